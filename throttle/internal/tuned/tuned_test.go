package tuned

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

type pair struct{ a, b int }

var errNegative = errors.New("negative")

func newPair(a, b int) *Settings[pair] {
	s := &Settings[pair]{}
	s.Init(pair{a, b}, func(p *pair) error {
		if p.a < 0 || p.b < 0 {
			return errNegative
		}
		return nil
	})
	return s
}

func want(t *testing.T, when string, s *Settings[pair], now, code pair) {
	t.Helper()
	if got := s.State(); got.Now != now || got.Code != code || *s.Load() != now {
		t.Errorf("%s: got %v in force and %v of the code, want %v and %v", when, got.Now, got.Code, now, code)
	}
}

// TestSettings_override is in force until it ends, and the code's changes are not lost meanwhile.
func TestSettings_override(t *testing.T) {
	s := newPair(1, 2)
	var kept *pair
	check := func(when string, err error, now, code pair) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		want(t, when, s, now, code)
	}
	check("tuned", s.Tune(func(p *pair) { p.a = 3; kept = p }), pair{3, 2}, pair{3, 2})
	kept.a = -9
	check("overridden", s.Override(func(p *pair) { p.a = 7 }), pair{7, 2}, pair{3, 2})
	check("tuned below", s.Tune(func(p *pair) { p.a, p.b = p.a+1, 5 }), pair{7, 5}, pair{4, 5})
	check("another override", s.Override(func(p *pair) { p.b = 8 }), pair{4, 8}, pair{4, 5})
	u := pair{0, 0}
	if s.State().Apply(&u); u != (pair{0, 8}) {
		t.Errorf("Apply: got %v", u)
	}
	check("ended", s.Override(nil), pair{4, 5}, pair{4, 5})
}

// TestSettings_refusesInvalid values, and changes nothing.
func TestSettings_refusesInvalid(t *testing.T) {
	negative := func(p *pair) { p.b = -1 }
	s := newPair(1, 2)
	for name, err := range map[string]error{
		"Tune": s.Tune(negative), "Override": s.Override(negative), "Check of Tune": s.Check(negative, nil), "Check of Override": s.Check(nil, negative),
	} {
		if !errors.Is(err, errNegative) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := s.Check(nil, func(p *pair) { p.a = 9 }); err != nil {
		t.Errorf("Check of a valid override: %v", err)
	}
	want(t, "after", s, pair{1, 2}, pair{1, 2})
}

// TestSettings_lastValueWins whatever the order in which concurrent calls of Override end.
func TestSettings_lastValueWins(t *testing.T) {
	for range 200 {
		s := newPair(0, 0)
		var value atomic.Int64
		over := func(p *pair) { p.a = int(value.Load()) }
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				value.Add(1)
				if err := s.Override(over); err != nil {
					t.Error(err)
				}
				if err := s.Tune(func(p *pair) { p.b++ }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		want(t, "after 8 changes", s, pair{8, 8}, pair{0, 8})
	}
}
