package storetest

import (
	"context"
	"errors"
)

func raceFaults() []fault {
	return []fault{
		{"loses updates", []string{"race/grants not one too many", "race/first requests of a bucket", "race/what is returned is granted again, once", "race/buckets do not share", "rate/not one too many and none lost in any time", "history/can be put in order", "history/can be put in order while tokens come back", "history/can be put in order across periods"}, shared(func(s *storage) { s.unlocked = true })},
		{"gives up when others write", []string{"race/grants not one too many", "history/can be put in order"}, each(func(b *broken, _ int) { b.early = busy(b.storage) })},
	}
}

// busy fails while another call is under way.
func busy(s *storage) func(context.Context) error {
	return func(ctx context.Context) error {
		if !s.mu.TryLock() {
			return errors.New("deadlock found")
		}
		aMoment()
		s.mu.Unlock()
		return ctx.Err()
	}
}
