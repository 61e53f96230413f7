package breaker

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// stripe makes the slot count in stripes, without a result.
func stripe(s *slot) { s.striped.CompareAndSwap(nil, newSlotWindow(s.span, 0)) }

// TestSlot_Collisions checks that colliding results are counted, and that a slot gets stripes once,
// and only if many calls collide in one bucket.
func TestSlot_Collisions(t *testing.T) {
	s := newSlot(20*time.Second, 0)
	cell := &s.single.Row(0, 0)[window.Accepted]
	collide := func(times int) {
		for range times {
			s.collide(cell)
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
	w := s.striped.Load()
	if w == nil {
		t.Fatal("got no stripes")
	}
	if collide(1); s.striped.Load() != w {
		t.Error("got other stripes: results are lost")
	}
	if got, want := cell.Load(), uint64(4*maxCollisions+1); got != want {
		t.Errorf("got %d results counted want %d", got, want)
	}
}

// TestSlot_Stripes checks that results in the stripes leave the window, and are discarded by a
// reset, as all others are.
func TestSlot_Stripes(t *testing.T) {
	s := newSlot(20*time.Second, 0)
	s.add(0, true)
	stripe(s)
	s.add(10*time.Second, true)
	s.add(10*time.Second, false)
	for _, tt := range []struct {
		now  time.Duration
		want window.Counts
	}{
		{10 * time.Second, window.Counts{Rejected: 2, Accepted: 1}},
		{25 * time.Second, window.Counts{Rejected: 1, Accepted: 1}},
		{35 * time.Second, window.Counts{}},
	} {
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
