package throttletest_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func draws(draw func() float64, n int) []float64 {
	var drawn []float64
	for range n {
		drawn = append(drawn, draw())
	}
	return drawn
}

func TestDrawsAreThoseGivenInTurn(t *testing.T) {
	tests := []struct {
		name string
		draw func() float64
		want []float64
	}{
		{"always", throttletest.Always(0.25), []float64{0.25, 0.25, 0.25}},
		{"sequence", throttletest.Sequence(0.1, 0.2, 0.3), []float64{0.1, 0.2, 0.3, 0.1, 0.2}},
		{"one", throttletest.Sequence(0.7), []float64{0.7, 0.7}},
		{"none", throttletest.Sequence(), []float64{0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := draws(tt.draw, len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("drew %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSequenceIsACopy(t *testing.T) {
	rs := []float64{0.1, 0.2}
	draw := throttletest.Sequence(rs...)
	rs[0] = 0.9
	if got := draw(); got != 0.1 {
		t.Errorf("drew %v, want 0.1", got)
	}
}

func TestSequenceIsSafeForConcurrentUse(t *testing.T) {
	draw := throttletest.Sequence(0, 1)
	var ones atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for _, r := range draws(draw, 100) {
				ones.Add(int64(r))
			}
		})
	}
	wg.Wait()
	if got := ones.Load(); got != 3200 {
		t.Errorf("drew 1 %d times of 6400, want 3200", got)
	}
}
