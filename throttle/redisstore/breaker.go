package redisstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	defaultPrefix = "spillway"
	longestName   = 255
	longestPrefix = 255
)

// BreakerConfig says where in Redis a breaker keeps what it knows.
type BreakerConfig struct {
	// Name tells the breakers that share a Redis apart. It is the same in all processes of a fleet. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is what all keys begin with: 1 to 255 bytes without braces, which mark the part of a key that a cluster looks at.
	// Default "spillway".
	Prefix string
}

// Breaker is a [store.Store] and a [store.Watcher] in Redis. Make it with [NewBreaker]. It is safe for concurrent use.
type Breaker struct {
	client  redis.UniversalClient
	keys    breakerKeys
	scripts breakerScripts
	silence time.Duration
}

// NewBreaker returns a store that uses the client, which stays the caller's to close: see [Options] for how to make one. It asks
// Redis nothing, so that a process starts also when Redis does not answer.
func NewBreaker(client redis.UniversalClient, c BreakerConfig) (*Breaker, error) {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := suits(client); err != nil {
		return nil, err
	}
	return &Breaker{client: client, keys: newBreakerKeys(c.Prefix, c.Name), scripts: newBreakerScripts(), silence: silence}, nil
}

func (c BreakerConfig) validate() error {
	if c.Name == "" || len(c.Name) > longestName {
		return fmt.Errorf("redisstore: BreakerConfig.Name is %.64q: want 1 to %d bytes", c.Name, longestName)
	}
	if len(c.Prefix) > longestPrefix || strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("redisstore: BreakerConfig.Prefix is %.64q: want 1 to %d bytes without braces", c.Prefix, longestPrefix)
	}
	return nil
}

// suits refuses clients with which a fleet would not see one and the same thing.
func suits(client redis.UniversalClient) error {
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

// Close implements [store.Store]. It does nothing: the client is its owner's to close.
func (b *Breaker) Close() error { return nil }

// run calls a script whose keys are all in one slot. What it is called with, and what it answers, is the script's to say.
func (b *Breaker) run(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := script.Run(ctx, b.client, keys, args...).Slice()
	if err != nil {
		return nil, ended(ctx, err)
	}
	return answer, nil
}

// ended says that a context is over, if that is why there was no answer: sockets have words of their own for it, and notice a deadline a
// moment before the context does.
func ended(ctx context.Context, err error) error {
	over := ctx.Err()
	if deadline, ok := ctx.Deadline(); over == nil && ok && !time.Now().Before(deadline) {
		over = context.DeadlineExceeded
	}
	if over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// errAnswer is the error of an answer that no script of ours gives.
var errAnswer = errors.New("the answer makes no sense")
