package otelthrottle_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMembersComeAndGo collects while members of a name are made, used and closed. The counter never falls, and no use is lost.
func TestMembersComeAndGo(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		s.start(l, manner{name: "a"}) // stays, so that the series do
		const workers, members = 8, 15
		var work, reading sync.WaitGroup
		var over atomic.Bool
		reading.Go(func() {
			for before := 0.0; !over.Load(); {
				now := l.read(t)[s.counter("a")]
				if now < before {
					t.Errorf("uses: got %v after %v", now, before)
				}
				before = now
			}
		})
		for range workers {
			work.Go(func() {
				for range members {
					m := s.start(l, manner{name: "a"})
					m.use(context.Background())
					_ = m.Close()
				}
			})
		}
		work.Wait()
		over.Store(true)
		reading.Wait()
		equal(t, "uses", l.read(t)[s.counter("a")], workers*members)
	})
}
