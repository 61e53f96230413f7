// Quickstart is the code of the README's first page, run against a backend that is made to struggle. It prints what becomes of
// the calls, the same each time and at once, because clock and dice are its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spillway-go/spillway/throttle"
)

func main() {
	os.Exit(command(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run makes calls while all is well, then far too many, and then two more.
func run(ctx context.Context, out io.Writer) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	// One throttle per backend, made once and kept. A program of yours needs neither Now nor Rand.
	th, err := throttle.New(throttle.Config{Name: "recommendations", Now: w.clock.Now, Rand: w.dice.Float64})
	if err != nil {
		return err
	}
	defer th.Close()

	fmt.Fprintln(out, "All is well:")
	if err := recommendToMedium(ctx, out, th, w.recommend); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nFor ten seconds come four times as many calls as the backend can serve, %d each second:\n", offered)
	w.overload(ctx, th)
	tell(out, th)

	fmt.Fprintln(out, "\nTwo calls while the backend still struggles:")
	_ = recommendToMedium(ctx, out, th, w.recommend) // it says itself that it was shed
	return recommendToLow(ctx, out, th, w.recommend)
}

// A recommender asks the backend what to recommend to a user.
type recommender func(ctx context.Context, user string) ([]string, error)

// recommendToMedium makes a call that has nothing to fall back on.
func recommendToMedium(ctx context.Context, out io.Writer, th *throttle.Throttle, recommend recommender) error {
	err := th.Do(ctx, throttle.Medium, func(ctx context.Context) error {
		products, err := recommend(ctx, "ann") // your call to the backend
		fmt.Fprintln(out, "  medium: we recommend", products)
		return err
	})
	if errors.Is(err, throttle.ErrShed) {
		fmt.Fprintln(out, "  medium: shed: the backend is overloaded, and the call was not sent")
	}
	return err
}

// recommendToLow makes a call that returns a value, and for which something plainer can be served instead.
func recommendToLow(ctx context.Context, out io.Writer, th *throttle.Throttle, recommend recommender) error {
	products, err := throttle.Do(ctx, th, throttle.Low, func(ctx context.Context) ([]string, error) {
		return recommend(ctx, "ann")
	}, func(_ context.Context, err error, local bool) ([]string, error) {
		fmt.Fprintf(out, "  low:    not sent: %v, because: %v\n", local, err) // local is false if recommend returned err
		return []string{"our best sellers"}, nil
	})
	fmt.Fprintln(out, "  low:    we recommend", products)
	return err
}

// tell prints what the throttle knows of each priority.
func tell(out io.Writer, th *throttle.Throttle) {
	for _, p := range th.Stats().Priorities {
		fmt.Fprintf(out, "  %-9v accepted %3d  rejected %3d  shed %4d  probability of shedding the next %.2f\n", p.Priority,
			p.Ended.Outcome(throttle.Accepted), p.Ended.Outcome(throttle.Rejected),
			p.Shed.Sum(), p.Probability)
	}
}
