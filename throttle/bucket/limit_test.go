package bucket

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSoundLimitsAreThoseWithNothingWrong: what is asked at each request and what explains agree.
func TestSoundLimitsAreThoseWithNothingWrong(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 3, 1000, 1e9, 1e9 + 1, 3e17, 1e18, math.MaxInt64}
	some := func() int64 { return odd[draw.IntN(len(odd))] }
	sound := 0
	for range 100_000 {
		l := Limit{Capacity: some(), Refill: some(), Period: time.Duration(some()), Algorithm: Algorithm(draw.IntN(4))}
		full := l.WithDefaults()
		if got, want := full.sound(), full.explain() == nil; got != want {
			t.Fatalf("%+v: sound %t, but %v", l, got, full.explain())
		} else if got {
			sound++
		}
	}
	if sound < 1000 || sound > 99_000 {
		t.Errorf("%d of 100,000 were sound: nothing was compared", sound)
	}
}
