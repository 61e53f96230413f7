package storetest

import (
	"context"
	"errors"
)

func raceFaults() []fault {
	return []fault{
		{"loses updates", []string{"race/grants exactly the capacity", "race/concurrent first requests", "race/buckets are independent", "history/is linearizable", "history/is linearizable while tokens are added", "history/is linearizable across periods"}, shared(func(s *storage) { s.unlocked = true })},
		{"gives up when others write", []string{"race/grants exactly the capacity"}, each(func(b *broken, _ int) { b.early = busy(b.storage) })},
	}
}

// busy returns an error while another call is in flight.
func busy(s *storage) func(context.Context) error {
	return func(ctx context.Context) error {
		if !s.mu.TryLock() {
			return errors.New("deadlock found")
		}
		yield()
		s.mu.Unlock()
		return ctx.Err()
	}
}
