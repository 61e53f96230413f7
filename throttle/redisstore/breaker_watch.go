package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingAfter is the time without a message after which Watch sends a PING.
const pingAfter = 5 * time.Second

// Watch implements [breakerstore.Watcher]. It also calls changed after each subscription, the first
// one and the one after a lost connection, because earlier messages may have been missed. It
// returns an error if Redis cannot be reached twice in a row.
func (b *Breaker) Watch(ctx context.Context, changed func()) error {
	channel := b.client.Subscribe(ctx)
	defer channel.Close()
	// A canceled context does not end a read on the socket. Closing the connection does.
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	if err := channel.Subscribe(ctx, b.keys.change); err != nil {
		return b.watchError(ctx, err)
	}
	for failed := false; ; {
		message, err := channel.ReceiveTimeout(ctx, b.pingAfter)
		switch {
		case ctx.Err() != nil, err != nil && (failed || isServerError(err)):
			return b.watchError(ctx, err)
		case err != nil: // no message for pingAfter, or a lost connection; PING makes a new one
			_ = channel.Ping(ctx)
		case isChange(message):
			changed()
		}
		failed = err != nil
	}
}

// watchError returns the error of Watch. If the context has ended, that is the reason for the
// closed connection.
func (b *Breaker) watchError(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return failed("watch", b.keys.change, err)
}

// isChange reports whether a message is a change or the start of a subscription, and not the reply
// to a PING.
func isChange(message any) bool {
	_, pong := message.(*redis.Pong)
	return !pong
}
