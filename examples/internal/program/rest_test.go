package program

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !Rest(t.Context(), time.Minute) || time.Since(begun) != time.Minute {
			t.Errorf("got the end after %v want it undisturbed after a minute", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if Rest(ctx, time.Minute) || time.Since(begun) != time.Second {
			t.Errorf("got the end after %v want it disturbed after a second", time.Since(begun))
		}
	})
}
