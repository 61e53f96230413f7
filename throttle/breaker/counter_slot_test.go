package breaker

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// TestSlot checks that a slot gets stripes once, and only if many calls collide in one bucket. Results
// of all places leave the window, and a reset discards them.
func TestSlot(t *testing.T) {
	s := newSlot(20*time.Second, 0)
	collide := func(times int) {
		for range times {
			s.collide(&s.single.Row(0, 0)[window.Accepted])
		}
	}
	for range 3 {
		collide(maxCollisions - 1)
		s.add(s.single.Ends(), false)
	}
	if s.striped.Load() != nil {
		t.Error("got stripes want none: too few calls have collided in one bucket")
	}
	collide(maxCollisions)
	w, counted := s.striped.Load(), uint64(4*maxCollisions)
	if w == nil {
		t.Fatal("got no stripes")
	}
	s.add(10*time.Second, true)
	if collide(1); s.striped.Load() != w {
		t.Error("got other stripes: results are lost")
	}
	for _, tt := range []struct {
		now  time.Duration
		want window.Counts
	}{{10 * time.Second, window.Counts{Rejected: 1, Accepted: counted + 1}}, {25 * time.Second, window.Counts{Rejected: 1}}, {35 * time.Second, window.Counts{}}} {
		if got := s.read(tt.now); got != tt.want {
			t.Errorf("at %v: got %+v want %+v", tt.now, got, tt.want)
		}
	}
	s.add(40*time.Second, true)
	_, s.mark = s.totals(40 * time.Second)
	s.add(40*time.Second, false)
	if got, want := s.read(40*time.Second), (window.Counts{Accepted: 1}); got != want {
		t.Errorf("after a reset: got %+v want %+v", got, want)
	}
}
