// Quickstart runs the calls of the README's first page against a simulated backend that is
// overloaded, and prints their outcomes. It prints the same each time: its clock and its random
// numbers are simulated too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
)

const usage = `Quickstart runs the calls of the README's first page against a simulated backend, and prints their outcomes.

usage: go run ./examples/quickstart

It has no flags except -h, and prints the same each time.
`

func main() {
	os.Exit(command(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if err := program.Parse(flag.NewFlagSet("quickstart", flag.ContinueOnError), args); err != nil {
		return program.Explain(stdout, stderr, "quickstart", usage, err)
	}
	return program.Conclude(stderr, "quickstart", run(ctx, stdout))
}

// run makes one call to the healthy backend, then overloads it, and then makes two more calls.
func run(ctx context.Context, out io.Writer) error {
	s, err := newSimulation()
	if err != nil {
		return err
	}
	// Make one throttle per backend, when the program starts. It decides by the outcomes of all
	// calls to that backend. A program of yours leaves out Now and Rand.
	th, err := throttle.New(throttle.Config{Name: "recommendations", Now: s.clock.Now, Rand: s.random.Float64})
	if err != nil {
		return err
	}
	defer th.Close()

	fmt.Fprintln(out, "The backend is healthy:")
	if err := recommendToMedium(ctx, out, th, s.recommend); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nTen seconds of overload: %d calls per second, four times what the backend can serve:\n", offered)
	s.overload(ctx, th)
	printStats(out, th)

	fmt.Fprintln(out, "\nTwo calls while the backend is still overloaded:")
	_ = recommendToMedium(ctx, out, th, s.recommend) // prints that the call was shed
	return recommendToLow(ctx, out, th, s.recommend)
}

// A recommender calls the backend for the recommendations to a user.
type recommender func(ctx context.Context, user string) ([]string, error)

// recommendToMedium makes a call without a fallback. Medium is the priority for most calls. Use
// High for the few calls that must succeed, and Low for those that can fail without harm.
func recommendToMedium(ctx context.Context, out io.Writer, th *throttle.Throttle, recommend recommender) error {
	err := th.Do(ctx, throttle.Medium, func(ctx context.Context) error {
		products, err := recommend(ctx, "ann") // your call to the backend
		fmt.Fprintln(out, "  medium: we recommend", products)
		return err // Do counts it as accepted or rejected
	})
	if errors.Is(err, throttle.ErrShed) {
		fmt.Fprintln(out, "  medium: shed: the backend is overloaded, and the call was not sent")
	}
	return err
}

// recommendToLow makes a call that returns a value and has a fallback. Because the fallback is good
// enough, the call has the priority Low and is shed first.
func recommendToLow(ctx context.Context, out io.Writer, th *throttle.Throttle, recommend recommender) error {
	products, err := throttle.Do(ctx, th, throttle.Low, func(ctx context.Context) ([]string, error) {
		return recommend(ctx, "ann")
	}, func(_ context.Context, err error, local bool) ([]string, error) {
		fmt.Fprintf(out, "  low:    shed: %v, error: %v\n", local, err) // local is false if recommend returned err
		return []string{"our best sellers"}, nil
	})
	fmt.Fprintln(out, "  low:    we recommend", products)
	return err
}

// printStats prints the throttle's counts by priority.
func printStats(out io.Writer, th *throttle.Throttle) {
	for _, p := range th.Stats().Priorities {
		fmt.Fprintf(out, "  %-9v accepted %3d  rejected %3d  shed %4d  probability of shedding the next %.2f\n", p.Priority,
			p.Ended.Outcome(throttle.Accepted), p.Ended.Outcome(throttle.Rejected),
			p.Shed.Sum(), p.Probability)
	}
}
