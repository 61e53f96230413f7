package protocol_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestServed_Outcome_deadline(t *testing.T) {
	const none = time.Duration(0)
	for name, c := range map[string]struct {
		timeout, cancel, after time.Duration // of the caller, from the beginning
		want                   error
	}{
		"no deadline":              {none, none, time.Hour, nil},
		"no deadline, cancelled":   {none, time.Second, time.Second, context.Canceled},
		"before":                   {time.Second, none, 999 * time.Millisecond, nil},
		"after":                    {time.Second, none, time.Second, context.DeadlineExceeded},
		"cancelled long before":    {time.Second, 974 * time.Millisecond, 974 * time.Millisecond, context.Canceled},
		"cancelled shortly before": {time.Second, 976 * time.Millisecond, 976 * time.Millisecond, context.DeadlineExceeded},
		"cancelled, ended later":   {time.Second, time.Millisecond, 2 * time.Second, context.DeadlineExceeded},
		"short, first quarters":    {40 * time.Millisecond, 29 * time.Millisecond, 29 * time.Millisecond, context.Canceled},
		"short, last quarter":      {40 * time.Millisecond, 31 * time.Millisecond, 31 * time.Millisecond, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.timeout)
				defer cancel()
			}
			var served protocol.Served
			served.Begin(ctx)
			if c.cancel > 0 {
				time.Sleep(c.cancel)
				cancel()
			}
			time.Sleep(c.after - c.cancel)
			if got := served.Outcome(nil); !errors.Is(got, c.want) {
				t.Errorf("%s: got %v want %v", name, got, c.want)
			}
		})
	}
}
