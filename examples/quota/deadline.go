package main

import (
	"context"
	"time"
)

// deadline returns when a context ends at the latest.
func deadline(ctx context.Context) time.Time {
	at, ok := ctx.Deadline()
	if !ok {
		return time.Now().Add(longestRun)
	}
	return at
}
