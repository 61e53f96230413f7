package breaker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// stripe makes the slot count in stripes, without a result.
func stripe(s *slot) { s.striped.CompareAndSwap(nil, newSlotWindow(s.span, 0)) }

// TestSlot_LosesNothing counts by many goroutines, while the slot gets stripes.
func TestSlot_LosesNothing(t *testing.T) {
	const workers, each = 16, 5000
	s := newSlot(time.Hour, 0)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				s.add(time.Second, i%2 == 0)
				if n := s.read(time.Second); n.Accepted+n.Rejected > workers*each {
					t.Errorf("got %+v want at most %d", n, workers*each)
				}
				if w == 0 && i == each/2 {
					stripe(s)
				}
			}
		})
	}
	all.Wait()
	want := window.Counts{Accepted: workers * each / 2, Rejected: workers * each / 2}
	if got := s.read(time.Second); got != want || s.striped.Load() == nil {
		t.Errorf("got %+v, striped %t want %+v, true", got, s.striped.Load() != nil, want)
	}
}

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

// TestCounter_PolledMoreOftenThanCalled checks that polls do not make a circuit look idle.
func TestCounter_PolledMoreOftenThanCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := NewCounter(time.Minute), Key{ID: "k"}
		for second := range 600 {
			if got, _ := c.Poll(t.Context(), PollQuery{}); second > 60 && got[k].Failures < 6 {
				t.Fatalf("after %d s: got %v failures want 6 a minute", second, got[k].Failures)
			}
			if second%10 == 5 {
				c.Failure(k)
			}
			time.Sleep(time.Second)
		}
	})
}
