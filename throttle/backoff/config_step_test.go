package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestStepNext(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name string
		step backoff.Step
		want []time.Duration
	}{
		{"linear", backoff.Linear(s, 4*s), []time.Duration{s, 2 * s, 3 * s, 4 * s, 4 * s}},
		{"linear, between", backoff.Linear(3*s, 7*s), []time.Duration{3 * s, 6 * s, 7 * s, 7 * s}},
		{"linear, at once", backoff.Linear(9*s, 7*s), []time.Duration{7 * s, 7 * s}},
		{"linear, far", backoff.Linear(math.MaxInt64/2+1, math.MaxInt64), []time.Duration{math.MaxInt64/2 + 1, math.MaxInt64, math.MaxInt64}},
		{"exponential", backoff.Exponential(s, 9*s, 2), []time.Duration{s, 2 * s, 4 * s, 8 * s, 9 * s, 9 * s}},
		{"exponential, at once", backoff.Exponential(s, s/2, 2), []time.Duration{s / 2, s / 2}},
		{"exponential, NaN", backoff.Exponential(s, 9*s, math.NaN()), []time.Duration{s, 9 * s}},
		{"exponential, Inf", backoff.Exponential(s, math.MaxInt64, math.Inf(1)), []time.Duration{s, math.MaxInt64}},
	} {
		d := time.Duration(0)
		for i, want := range tt.want {
			if d = tt.step.Next(d); d != want {
				t.Errorf("%s, step %d: got %v want %v", tt.name, i+1, d, want)
			}
		}
	}
}

// TestHostileUp has steps that return delays out of range, and invalid ones.
func TestHostileUp(t *testing.T) {
	for name, up := range map[string]backoff.Step{
		"starts low":  backoff.Exponential(1, time.Hour, 2),
		"starts high": backoff.Exponential(math.MaxInt64, math.MaxInt64, 1e300),
		"huge":        backoff.Linear(math.MaxInt64, math.MaxInt64),
		"tiny":        backoff.Linear(1, 2),
		"endless":     backoff.Exponential(1, math.MaxInt64, math.Inf(1)),
	} {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", Up: up, InitialInterval: time.Second, MaxInterval: time.Minute}))
		last := time.Duration(0)
		b := r.BackOff()
		for range 10 {
			b.NextBackOff()
			if d := r.Delay(); d < time.Second || d > time.Minute || d < last {
				t.Errorf("%s: got a delay of %v after %v want 1s to 1m, never less than before", name, d, last)
			}
			last = r.Delay()
		}
		if s := r.Stats(); s.Ups != 10 {
			t.Errorf("%s: got %d steps up want 10", name, s.Ups)
		}
	}
	for name, up := range map[string]backoff.Step{
		"shrinks": backoff.Exponential(time.Second, time.Hour, 0.5), "stays": backoff.Exponential(time.Second, time.Hour, 1),
		"NaN": backoff.Exponential(time.Second, time.Hour, math.NaN()), "negative": backoff.Linear(-1, time.Hour),
		"no longest": backoff.Linear(time.Second, 0), "adds nothing": backoff.Linear(0, time.Hour),
	} {
		if r, err := backoff.New(backoff.Config{Name: "x", Up: up}); err == nil {
			t.Errorf("%s: got %v want an error", name, r.Stats())
		}
	}
}
