package redisstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// checkClient refuses clients with which a fleet would not see one and the same thing.
func checkClient(client redis.UniversalClient) error {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() { // of a type or not, it would panic later
		return errors.New("redisstore: the client is nil")
	}
	switch c := client.(type) {
	case *redis.Ring:
		return errors.New("redisstore: the client is a Ring, which looks elsewhere for what a server that does not answer had, so that a fleet " +
			"could have two leaders: want a Client or a ClusterClient")
	case *redis.ClusterClient:
		if c.Options().ReadOnly {
			return errors.New("redisstore: the client reads from replicas, which may be behind, so that what was just written would seem " +
				"lost: want ReadOnly, RouteByLatency and RouteRandomly false")
		}
	}
	return nil
}

// run calls a script whose keys are all in one slot. What it is called with, and what it answers, is the script's to say.
func run(ctx context.Context, client redis.UniversalClient, script *redis.Script, keys []string, args ...any) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := script.Run(ctx, client, keys, args...).Slice()
	if err != nil {
		return nil, contextError(ctx, err)
	}
	return answer, nil
}

// contextError says that a context is over, if that is why there was no answer: sockets have words of their own for it, and notice a deadline a
// moment before the context does.
func contextError(ctx context.Context, err error) error {
	over := ctx.Err()
	if deadline, ok := ctx.Deadline(); over == nil && ok && !time.Now().Before(deadline) {
		over = context.DeadlineExceeded
	}
	if over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// errReply is the error of an answer that no script of ours gives.
var errReply = errors.New("the answer makes no sense")

// isServerError reports whether an error is what a server said, rather than that there was no answer.
func isServerError(err error) bool {
	var said redis.Error
	return errors.As(err, &said)
}

// maxMicros is the longest time that scripts are told, in microseconds: their numbers are exact up to here, with the time of now added.
const maxMicros = 1 << 52

// microseconds is a duration as scripts count. What is shorter than a microsecond is one: a length of 0 is never meant.
func microseconds(d time.Duration) int64 {
	if d > 0 && d < time.Microsecond {
		return 1
	}
	return min(max(0, d.Microseconds()), maxMicros)
}

// duration is what scripts count as a duration.
func duration(micros int64) time.Duration {
	return time.Duration(min(max(0, micros), maxMicros)) * time.Microsecond
}

// How long a client made with Options may take at most.
const (
	dialTimeout   = time.Second
	socketTimeout = 500 * time.Millisecond
)

// Options returns settings for a client of a store, for [redis.NewUniversalClient]: one address means a server, several mean a
// cluster. Add what is needed to log in.
//
// A context ends a call on the socket too, which it does not by default: a server that hangs would hold each call for seconds. Nothing
// is tried twice: a refresh comes round again anyway, and a write that was tried twice would conflict with itself.
func Options(addresses ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 addresses,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           socketTimeout,
		WriteTimeout:          socketTimeout,
		PoolTimeout:           socketTimeout,
		// For managed servers that announce their maintenance; others are asked in vain, on each connection.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
