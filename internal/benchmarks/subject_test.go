package main

import (
	"testing"
)

// TestSubjectsDoAsNamed runs a few thousand operations of each subject and looks at what they did.
func TestSubjectsDoAsNamed(t *testing.T) {
	for _, s := range allSubjects() {
		t.Run(s.name, func(t *testing.T) {
			r := &result{subject: s}
			for range 20 {
				s.ready()
				loop(s.op, 200)
				r.sample()
			}
			r.finish()
			const luck = 0.01 // some subjects draw for themselves, and four thousand draws are few
			if got := r.share(); got < s.wanted()-luck {
				t.Errorf("share of operations that did as named: got %v want at least %v", got, s.wanted()-luck)
			}
		})
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]*subject{}
	for _, s := range allSubjects() {
		if seen[s.name] != nil {
			t.Errorf("got two subjects called %q, want one", s.name)
		}
		seen[s.name] = s
	}
	for _, c := range bounds() {
		for _, p := range append([]part{{c.over, 1}, {c.under, 1}}, c.plus...) {
			if onTwo := c.under == ""; p.name == "" && onTwo {
				continue
			} else if s := seen[p.name]; s == nil || onTwo && !s.pair {
				t.Errorf("%s: got a bound on %q, want a subject that exists, on two processors: %t", c.what, p.name, onTwo)
			}
		}
	}
}
