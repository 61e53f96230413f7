package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// command is the program and its environment. Tests replace the environment.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	progress       *progress
	workers        int // runs that are played at the same time; 0 for one per processor
}

// run plays all runs, writes the results, and returns the exit code.
func (c command) run(ctx context.Context) int {
	runs := plan(c.settings)
	c.progress.add(0)
	outcomes, err := c.playAll(ctx, runs)
	c.progress.clear()
	r := newReport(c.settings, runs, outcomes)
	if err == nil {
		err = c.write(r)
	}
	if err != nil {
		fmt.Fprintln(c.stderr, "simulate:", err)
		return program.Failed
	}
	if r.done < r.planned {
		fmt.Fprintf(c.stderr, "simulate: interrupted: the output is of %d runs out of %d\n", r.done, r.planned)
		return exitInterrupted
	}
	return program.Done
}

// play plays one run. Without -plot it drops the series, which takes the most memory of an outcome.
func (c command) play(ctx context.Context, r run) (overload.Outcome, error) {
	outcome, err := overload.Play(ctx, r.scenario, r.policy, r.seed, c.settings.options)
	if err != nil {
		return outcome, fmt.Errorf("%s with %s, seed %d: %w", r.scenario.Name, r.policy.Name, r.seed, err)
	}
	c.progress.add(1)
	if c.settings.plot == "" {
		outcome.Series = nil
	}
	return outcome, nil
}

func (c command) write(r report) error {
	w := bufio.NewWriter(c.stdout)
	if err := formats()[c.settings.format](w, r); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if c.settings.plot == "" {
		return nil
	}
	if left := unplottable(c.settings.scenarios); left != "" {
		fmt.Fprintln(c.stderr, "simulate: not in the plot:", left)
	}
	if p := pictureOf(r); len(p.panels) > 0 {
		return p.write(c.settings.plot)
	}
	fmt.Fprintln(c.stderr, "simulate: no run is complete, so no plot is written")
	return nil
}

// formats returns the functions for the names that -format accepts.
func formats() map[string]func(io.Writer, report) error {
	return map[string]func(io.Writer, report) error{"table": writeTable, "csv": writeCSV}
}

type run struct {
	scenario overload.Scenario
	policy   overload.Policy
	seed     uint64
}

// plan returns the runs in the order in which they are played: seed by seed. So the completed runs
// compare all policies, even after Ctrl-C.
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

// playAll plays the runs, some of them at the same time. It returns an outcome per run:
// nil for those that were not complete when the context ended. If a run fails, it returns that error.
func (c command) playAll(ctx context.Context, runs []run) ([]*overload.Outcome, error) {
	outcomes := make([]*overload.Outcome, len(runs))
	group, failing := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.workers, runtime.GOMAXPROCS(0)))
	for i, r := range runs {
		group.Go(func() error {
			if failing.Err() != nil {
				return nil
			}
			outcome, err := c.play(failing, r)
			switch {
			case err == nil:
				outcomes[i] = &outcome
			case failing.Err() == nil:
				return err
			}
			return nil
		})
	}
	return outcomes, group.Wait()
}
