package main

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// A run is one scenario with one policy and one seed.
type run struct {
	scenario overload.Scenario
	policy   overload.Policy
	seed     uint64
}

// plan returns the runs in the order in which they are played: seed by seed, so that what is complete after Ctrl-C lets all
// policies be compared.
func plan(s settings) []run {
	var runs []run
	for _, seed := range s.seeds {
		for _, scenario := range s.scenarios {
			for _, policy := range s.policies {
				runs = append(runs, run{scenario, policy, seed})
			}
		}
	}
	return runs
}

// playAll plays the runs with so many workers. It returns an outcome for each, nil for those that were not completed before the
// context ended, or the error of the first run that failed.
func playAll(ctx context.Context, runs []run, workers int,
	play func(ctx context.Context, i int, r run) (overload.Outcome, error),
) ([]*overload.Outcome, error) {
	failing, fail := context.WithCancel(ctx)
	defer fail()
	outcomes, errs := make([]*overload.Outcome, len(runs)), make([]error, len(runs))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, len(runs)) {
		group.Go(func() {
			for failing.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(runs) {
					return
				}
				outcome, err := play(failing, i, runs[i])
				switch {
				case err == nil:
					outcomes[i] = &outcome
				case failing.Err() == nil:
					errs[i] = err
					fail()
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}
