package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestCanceledAfter cancels calls at different times.
func TestCanceledAfter(t *testing.T) {
	const limit = time.Second
	canceled := fmt.Errorf("query: %w", context.Canceled)
	ignore := throttle.IgnoreIf(func(err error) bool { return errors.Is(err, context.Canceled) })
	for name, c := range map[string]struct {
		config throttle.Config
		after  time.Duration // when the caller cancels; 0: never
		err    error         // of the function
		want   throttle.Outcome
		fault  throttle.Fault
	}{
		"off":                     {throttle.Config{}, time.Hour, canceled, throttle.Ignored, throttle.FaultCanceled},
		"negative":                {throttle.Config{CanceledAfter: -1}, time.Hour, canceled, throttle.Ignored, throttle.FaultCanceled},
		"too soon":                {throttle.Config{CanceledAfter: limit}, limit - 1, canceled, throttle.Ignored, throttle.FaultCanceled},
		"late":                    {throttle.Config{CanceledAfter: limit}, limit, canceled, throttle.Rejected, throttle.FaultCanceled},
		"not by the caller":       {throttle.Config{CanceledAfter: limit}, 0, canceled, throttle.Ignored, throttle.FaultCanceled},
		"shed inside":             {throttle.Config{CanceledAfter: limit}, limit, throttle.ErrShed, throttle.Ignored, throttle.FaultShed},
		"cancelled inside a shed": {throttle.Config{CanceledAfter: limit}, limit, errors.Join(canceled, throttle.ErrShed), throttle.Ignored, throttle.FaultCanceled},
		"another error":           {throttle.Config{CanceledAfter: limit}, limit, errPlain, throttle.Accepted, throttle.FaultOther},
		"no error":                {throttle.Config{CanceledAfter: limit}, limit, nil, throttle.Accepted, throttle.FaultNone},
		"Classify has an opinion": {throttle.Config{CanceledAfter: limit, Classify: ignore}, limit, canceled, throttle.Ignored, throttle.FaultCanceled},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			th := build(t, c.config)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_ = th.Do(ctx, throttle.High, func(context.Context) error {
				time.Sleep(c.after)
				if c.after > 0 {
					cancel()
				}
				return c.err
			})
			wantAdmitted(t, th, throttle.High, 1, c.want, c.fault)
		}))
	}
}

// TestTuneCanceledAfter applies to calls that begin later.
func TestTuneCanceledAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{})
		hang := func(change throttle.Patch, ignored, rejected uint64) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			_ = th.Do(ctx, throttle.High, func(context.Context) error {
				tune(t, th, change)
				time.Sleep(time.Minute)
				cancel()
				return ctx.Err()
			})
			ended := tier(th, throttle.High).Ended
			equal(t, "ignored", ended.Count(throttle.Ignored, throttle.FaultCanceled), ignored)
			equal(t, "rejected", ended.Count(throttle.Rejected, throttle.FaultCanceled), rejected)
		}
		second := throttle.Patch{CanceledAfter: new(throttle.Duration(time.Second))}
		hang(second, 1, 0)
		hang(second, 1, 1)
		hang(throttle.Patch{CanceledAfter: new(throttle.Duration(-1))}, 2, 1)
	})
}
