package window

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestStripesAreAPowerOfTwo(t *testing.T) {
	for wish, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 16: 16, 17: 32} {
		equal(t, fmt.Sprint(wish, " wished"), stripesFor(wish), want)
	}
	for _, wish := range []int{0, -1} {
		if got := stripesFor(wish); got < minStripes || got > maxStripes {
			t.Errorf("%d wished: got %d, want %d to %d", wish, got, minStripes, maxStripes)
		}
	}
}

func TestPicksLieWithinTheStripesAndDiffer(t *testing.T) {
	w := newWindow(time.Second, 10)
	var mu sync.Mutex
	seen := map[int]bool{}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			pick := w.Pick()
			mu.Lock()
			defer mu.Unlock()
			seen[pick] = true
		})
	}
	all.Wait()
	for pick := range seen {
		if pick < 0 || pick >= w.Stripes() {
			t.Errorf("picked stripe %d of %d", pick, w.Stripes())
		}
	}
	if len(seen) < 2 {
		t.Errorf("200 goroutines picked %d stripe, want several", len(seen))
	}
}
