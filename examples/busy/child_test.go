package main

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestAServerEndsWithItsParent closes the standard input of a server, as the end of its parent does.
func TestAServerEndsWithItsParent(t *testing.T) {
	c := throttle.Must(startServer(true, 1, t.Output()))
	defer c.stop()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
}

// TestAServerThatEnds ends one of the servers.
func TestAServerThatEnds(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	protected, bare, err := startBoth(settings{handler: time.Millisecond}, t.Output(), stop)
	if err != nil {
		t.Fatal(err)
	}
	defer protected.stop()
	bare.stop()
	<-ctx.Done()
	equal(t, "cause", context.Cause(ctx).Error(), "a server has ended")
}
