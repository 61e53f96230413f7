package tuned

import (
	"errors"
	"sync"
	"testing"
)

type pair struct{ a, b int }

type patch struct{ a, b *int }

var errNegative = errors.New("negative")

func (p pair) With(c patch) (pair, error) {
	Set(&p.a, c.a)
	Set(&p.b, c.b)
	if p.a < 0 || p.b < 0 {
		return p, errNegative
	}
	return p, nil
}

func newPair(a, b int) *Settings[pair, patch] {
	s := &Settings[pair, patch]{}
	s.Init(pair{a, b})
	return s
}

func want(t *testing.T, when string, s *Settings[pair, patch], now, code pair) {
	t.Helper()
	if got := s.State(); got.Now != now || got.Code != code || *s.Load() != now {
		t.Errorf("%s: got %v in force and %v of the code, want %v and %v", when, got.Now, got.Code, now, code)
	}
}

// TestSettings_refusesInvalid values and sources, and changes nothing.
func TestSettings_refusesInvalid(t *testing.T) {
	s, negative := newPair(1, 2), patch{b: new(-1)}
	for name, err := range map[string]error{"Tune": s.Tune(negative), "Override": s.Override(1, negative)} {
		if !errors.Is(err, errNegative) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, source := range []int{-1, 0, NumSources} {
		if err := s.Override(source, patch{}); err == nil {
			t.Errorf("source %d: got no error", source)
		}
	}
	want(t, "after", s, pair{1, 2}, pair{1, 2})
}

// TestSettings_concurrent changes of different settings and sources are all kept.
func TestSettings_concurrent(t *testing.T) {
	for range 200 {
		s := newPair(0, 0)
		var all sync.WaitGroup
		for source := 1; source < NumSources; source++ {
			all.Go(func() {
				if err := s.Override(source, patch{a: &source}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { _ = s.Tune(patch{a: new(8)}) })
		all.Go(func() { _ = s.Tune(patch{b: new(9)}) })
		all.Wait()
		want(t, "after all", s, pair{NumSources - 1, 9}, pair{8, 9})
	}
}
