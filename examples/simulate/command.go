package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// A command is the program with everything around it.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	progress       *progress
	workers        int // how many runs are played at once; one per processor if 0
}

// run plays everything, writes what came of it, and returns the exit code.
func (c command) run(ctx context.Context) int {
	runs := plan(c.settings)
	stop := c.progress.watch()
	outcomes, err := playAll(ctx, runs, cmp.Or(c.workers, runtime.GOMAXPROCS(0)), c.play)
	stop()
	if err != nil {
		fmt.Fprintln(c.stderr, "simulate:", err)
		return exitFailed
	}
	r := newReport(c.settings, runs, outcomes)
	if err := c.write(r); err != nil {
		fmt.Fprintln(c.stderr, "simulate:", err)
		return exitFailed
	}
	if r.done < r.planned {
		fmt.Fprintf(c.stderr, "simulate: interrupted: the output is of %d runs out of %d\n", r.done, r.planned)
		return exitInterrupted
	}
	return exitDone
}

// play plays one run. Its course is most of what it leaves in memory, so that is forgotten at once if nobody will draw it.
func (c command) play(ctx context.Context, i int, r run) (overload.Outcome, error) {
	options := c.settings.options
	options.Progress = func(done float64) { c.progress.at(i, done) }
	outcome, err := overload.Play(ctx, r.scenario, r.policy, r.seed, options)
	if err != nil {
		return outcome, fmt.Errorf("%s with %s, seed %d: %w", r.scenario.Name, r.policy.Name, r.seed, err)
	}
	if c.settings.plot == "" {
		outcome.Series = overload.Series{}
	}
	return outcome, nil
}

// write writes the report, and the plot if there is to be one.
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
	fmt.Fprintln(c.stderr, "simulate: no run is complete, so nothing is plotted")
	return nil
}

// formats returns what -format chooses from.
func formats() map[string]func(io.Writer, report) error {
	return map[string]func(io.Writer, report) error{"table": writeTable, "csv": writeCSV, "json": writeJSON}
}
