package main

import (
	"context"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

func numbered(n int) []run {
	runs := make([]run, n)
	for i := range runs {
		runs[i].seed = uint64(i)
	}
	return runs
}

func TestPlayAllKeepsOrder(t *testing.T) {
	for _, workers := range []int{1, 3, 100} {
		outcomes, err := playAll(t.Context(), numbered(20), workers, func(_ context.Context, r run) (overload.Outcome, error) {
			return overload.Outcome{Seed: r.seed}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, outcome := range outcomes {
			if outcome == nil || outcome.Seed != uint64(i) {
				t.Errorf("%d workers: got %v, want the outcome of seed %d", workers, outcome, i)
			}
		}
	}
}

// TestPlayAllAtOnce hangs unless three runs are played at the same time.
func TestPlayAllAtOnce(t *testing.T) {
	var meeting sync.WaitGroup
	meeting.Add(3)
	_, err := playAll(t.Context(), numbered(3), 3, func(context.Context, run) (overload.Outcome, error) {
		meeting.Done()
		meeting.Wait()
		return overload.Outcome{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}
