package shop

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestGoodputFallsAboveTheCapacity offers a backend more and more calls, evenly, and sees what it makes of them.
func TestGoodputFallsAboveTheCapacity(t *testing.T) {
	for _, tt := range []struct {
		load, goodput float64
	}{
		{0.5, 0.5}, {1, 1}, {2, (1 - rejectionCost*2) / (1 - rejectionCost)}, {4, (1 - rejectionCost*4) / (1 - rejectionCost)}, {6, 0}, {10, 0},
	} {
		const capacity, seconds = 400, 60
		now := time.Unix(0, 0)
		w := newWork(capacity, now)
		w.left = 0 // the test is not about saved up work
		served := 0
		for range int(tt.load * capacity * seconds) {
			now = now.Add(time.Duration(float64(time.Second) / (tt.load * capacity)))
			if w.take(now) {
				served++
			}
			if s := w.strain(); !(s >= 0 && s <= 1) {
				t.Fatalf("strain at load %v: got %v want 0 to 1", tt.load, s)
			}
		}
		if got := float64(served) / (capacity * seconds); math.Abs(got-tt.goodput) > 0.02 {
			t.Errorf("goodput at load %v: got %.3f want %.3f", tt.load, got, tt.goodput)
		}
	}
}

func TestWorkOfABackendThatIsDown(t *testing.T) {
	now := time.Unix(0, 0)
	w := newWork(400, now)
	w.change(0, now)
	for range 1000 {
		now = now.Add(time.Millisecond)
		if w.take(now) {
			t.Fatal("take while down: got served want rejected")
		}
	}
	if w.strain() != 1 {
		t.Errorf("strain while down: got %v want 1", w.strain())
	}
	w.change(400, now)
	if !w.take(now.Add(10 * time.Millisecond)) {
		t.Error("take after the outage: got rejected want served")
	}
}

// TestQueue fills the queue of a slow backend, until calls are lost, and lets it drain.
func TestQueue(t *testing.T) {
	const rate, served = 40, slowdown * minLatency
	now := time.Unix(0, 0)
	var q queue
	for i := range 41 { // each takes 25 ms
		if got, want := q.enter(now, rate), served+time.Duration(i+1)*25*time.Millisecond; got != want {
			t.Fatalf("call %d: got %v want %v", i, got, want)
		}
	}
	if got := q.enter(now, rate); got != never {
		t.Errorf("behind a queue of more than a second: got %v want no answer", got)
	}
	if got, want := q.enter(now.Add(10*time.Second), rate), served+25*time.Millisecond; got != want {
		t.Errorf("after the queue: got %v want %v", got, want)
	}
}

func TestPoissonHasTheRightMean(t *testing.T) {
	for _, expected := range []float64{0, 0.5, 8, 29, 31, 500} {
		const n = 20_000
		sum := 0
		for range n {
			sum += poisson(expected)
		}
		if got, off := float64(sum)/n, 6*math.Sqrt(expected/n); math.Abs(got-expected) > off+0.01 {
			t.Errorf("mean of poisson(%v): got %.3f want %v, within %.3f", expected, got, expected, off)
		}
	}
}

func TestPickFollowsTheShares(t *testing.T) {
	const n = 100_000
	counts := map[string]int{}
	for range n {
		counts[pick(rand.Float64()).Name]++
	}
	for _, k := range Kinds() {
		if got := float64(counts[k.Name]) / n; math.Abs(got-k.Share) > 0.02 {
			t.Errorf("%s: got a share of %.3f want %.2f", k.Name, got, k.Share)
		}
	}
	if got := pick(math.Nextafter(1, 0)).Name; got != "recommendations" {
		t.Errorf("pick of the highest draw: got %s want recommendations", got)
	}
}
