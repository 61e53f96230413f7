package overload

import (
	"slices"
	"strings"
	"testing"
)

// TestWordsAreUnambiguous: a word on the command line means one thing.
func TestWordsAreUnambiguous(t *testing.T) {
	var names []string
	families := map[string][]string{}
	for _, s := range Scenarios() {
		if slices.Contains(names, s.Name) {
			t.Errorf("two scenarios are called %q", s.Name)
		}
		names = append(names, s.Name)
		families[s.Family] = append(families[s.Family], s.Name)
		for _, word := range []string{s.Name, s.Family} {
			if word == allName || word == "" || strings.ContainsAny(word, " ,") {
				t.Errorf("%q cannot be in a list", word)
			}
		}
		if s.Title == "" {
			t.Errorf("%s has no title", s.Name)
		}
	}
	for family, members := range families {
		if slices.Contains(names, family) && len(members) > 1 {
			t.Errorf("%q is a scenario and a family of %q", family, members)
		}
	}
}
