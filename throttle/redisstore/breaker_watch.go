package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingAfter is how long a server may say nothing before it is asked whether it is still there.
const pingAfter = 5 * time.Second

// Watch implements [store.Watcher]. It calls changed also when it has begun to listen, at first and whenever the connection was lost:
// there may have been a change before. It returns if Redis cannot be reached at the second try.
func (b *Breaker) Watch(ctx context.Context, changed func()) error {
	channel := b.client.Subscribe(ctx)
	defer channel.Close()
	// Nothing else ends a read that waits: a context that is cancelled has no deadline to give to the socket.
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	if err := channel.Subscribe(ctx, b.keys.change); err != nil {
		return b.watchError(ctx, err)
	}
	for failed := false; ; {
		message, err := channel.ReceiveTimeout(ctx, b.pingAfter)
		switch {
		case ctx.Err() != nil, err != nil && (failed || isServerError(err)):
			return b.watchError(ctx, err)
		case err != nil: // silence, or the connection is lost, and there is a new one if there can be
			_ = channel.Ping(ctx)
		case isChange(message):
			changed()
		}
		failed = err != nil
	}
}

// watchError is why Watch ends: a closed connection is only how its context ends it.
func (b *Breaker) watchError(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil {
		return over
	}
	return fmt.Errorf("redisstore: watch: %s: %w", b.keys.change, err)
}

// isChange tells a change, or that listening has begun, from the answer of a server that was asked whether it is there.
func isChange(message any) bool {
	_, pong := message.(*redis.Pong)
	return !pong
}
