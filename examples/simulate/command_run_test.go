package main

import (
	"context"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// TestPlayAllAtOnce hangs unless three runs are played at the same time. It wants their outcomes in order.
func TestPlayAllAtOnce(t *testing.T) {
	runs := make([]run, 12)
	for i := range runs {
		runs[i].seed = uint64(i)
	}
	var meeting sync.WaitGroup
	meeting.Add(3)
	outcomes, err := playAll(t.Context(), runs, 3, func(_ context.Context, r run) (overload.Outcome, error) {
		if r.seed < 3 {
			meeting.Done()
			meeting.Wait()
		}
		return overload.Outcome{Seed: r.seed}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, outcome := range outcomes {
		if outcome == nil || outcome.Seed != uint64(i) {
			t.Errorf("got %v, want the outcome of seed %d", outcome, i)
		}
	}
}
