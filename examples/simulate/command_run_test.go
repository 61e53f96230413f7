package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func TestPlanIsSeedBySeed(t *testing.T) {
	var got []string
	for _, r := range plan(handmade(3, 9).settings) {
		got = append(got, fmt.Sprint(r.seed, " ", r.scenario.Name, " ", r.policy.Name))
	}
	want := []string{
		"3 first good", "3 first useless", "3 second good", "3 second useless",
		"9 first good", "9 first useless", "9 second good", "9 second useless",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
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

func TestPlayAllStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	outcomes, err := playAll(ctx, numbered(10), 1, func(ctx context.Context, r run) (overload.Outcome, error) {
		if r.seed == 4 {
			cancel()
		}
		return overload.Outcome{Seed: r.seed}, ctx.Err()
	})
	if err != nil {
		t.Errorf("got %v, want no error: it was wanted", err)
	}
	for i, outcome := range outcomes {
		if complete := outcome != nil; complete != (i < 4) {
			t.Errorf("run %d: got complete %v, want only the first four", i, complete)
		}
	}
}

func TestPlayAllReturnsError(t *testing.T) {
	errBroken := errors.New("broken")
	played := 0
	_, err := playAll(t.Context(), numbered(10), 1, func(_ context.Context, r run) (overload.Outcome, error) {
		played++
		if r.seed == 2 {
			return overload.Outcome{}, errBroken
		}
		return overload.Outcome{}, nil
	})
	if !errors.Is(err, errBroken) || played != 3 {
		t.Errorf("got %v after %d runs, want %v after 3", err, played, errBroken)
	}
}
