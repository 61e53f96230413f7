package program

import (
	"context"
	"time"
)

// Every calls f after each period, with the time since the start. It returns nil after total, or
// when ctx ends. If total is 0, it does not end by itself. If f returns an error, Every returns it.
func Every(ctx context.Context, period, total time.Duration, f func(elapsed time.Duration) error) error {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for elapsed := period; total == 0 || elapsed < total+period; elapsed += period {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
		if err := f(elapsed); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits for d and returns nil, or the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
