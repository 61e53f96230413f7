package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestWatchWithoutAServer wants an error at once, and the context's own if that is over.
func TestWatchWithoutAServer(t *testing.T) {
	b := newBreaker(t, says(nil))
	never := func() { t.Error("changed was called") }
	if err := b.Watch(t.Context(), never); err == nil || !strings.HasPrefix(err.Error(), "redisstore: watch: spillway:breaker:{b}:change: ") {
		t.Errorf("got error %v want redisstore: watch: and the channel", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Watch(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v want %v", err, context.Canceled)
	}
}
