package redisstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	defaultPrefix = "spillway"
	maxName       = 255 // bytes
	maxPrefix     = 255
	shownText     = 64 // bytes of a text in an error
)

// Timeouts of a client that is made with Options.
const (
	dialTimeout   = time.Second
	socketTimeout = 500 * time.Millisecond
)

// connectionAge is the longest time for which a client that is made with Options uses a connection.
const connectionAge = time.Minute

// Options returns settings for the client of a store, for [redis.NewUniversalClient]. One address
// is a server, several addresses are a cluster. Add the credentials that your server needs.
//
// The settings differ from the defaults of go-redis:
//
//   - A context ends a call on the socket. By default, a server that hangs blocks each call for
//     seconds.
//   - The client retries nothing. A refresh is repeated anyway, and a write that is sent twice
//     conflicts with itself. In a cluster, go-redis still sends a call again, up to three times, if
//     its connection breaks.
//   - The timeout to connect is 1 s. The timeouts to read, to write, and to wait for a connection
//     of the pool are 500 ms.
//   - No connection is used for more than a minute. If an address moves to another server, such as a
//     Service of Kubernetes in a failover, connections to the old primary can stay open. A manager
//     could read old circuits there without end.
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
		ConnMaxLifetime:       connectionAge - connectionAge/4,
		ConnMaxLifetimeJitter: connectionAge / 4, // so that not all end at the same time
		// By default the client asks on each connection for notifications of maintenance. Only some
		// managed servers support them.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// checkNames returns an error for an invalid name or prefix. Owner is the name of the config.
func checkNames(owner, name, prefix string) error {
	var errs []error
	if name == "" {
		errs = append(errs, fmt.Errorf("redisstore: %s.Name is missing: want 1 to %d bytes", owner, maxName))
	} else if len(name) > maxName {
		errs = append(errs, fmt.Errorf("redisstore: %s.Name is %s: want 1 to %d bytes", owner, shown(name), maxName))
	}
	if len(prefix) > maxPrefix || strings.ContainsAny(prefix, "{}") {
		errs = append(errs, fmt.Errorf("redisstore: %s.Prefix is %s: want 1 to %d bytes without braces", owner, shown(prefix), maxPrefix))
	}
	return errors.Join(errs...)
}

// shown quotes a text for an error. A long text is cut, and the result states its length.
func shown(text string) string {
	if len(text) <= shownText {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q... (%d bytes)", text[:shownText], len(text))
}

// checkClient returns an error for a nil client, and for a client that may read old data. The error
// for a Ring contains lost, the effect of a failover on the store.
func checkClient(client redis.UniversalClient, lost string) error {
	// A nil client, with or without a type, would panic at the first call.
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("redisstore: the client is nil")
	}
	switch c := client.(type) {
	case *redis.Ring:
		return fmt.Errorf("redisstore: redis.Ring is not supported: it fails over to another shard without data, so %s; "+
			"use Client or ClusterClient", lost)
	case *redis.ClusterClient:
		if c.Options().ReadOnly {
			return errors.New("redisstore: the client reads from replicas, which may be behind, so recent writes would seem lost: " +
				"set ReadOnly, RouteByLatency and RouteRandomly to false")
		}
	}
	return nil
}

//go:embed *.lua
var lua embed.FS

// script returns the script of some files, one after the other. It is called by its hash. If a server does not have
// it, for example after a restart, the client sends the text.
func script(files ...string) *redis.Script {
	text := ""
	for _, file := range files {
		part, err := lua.ReadFile(file + ".lua")
		if err != nil {
			panic(err) // there is no such file in this package
		}
		text += string(part)
	}
	return redis.NewScript(text)
}

// run calls a script. All its keys must be in one hash slot.
func run(ctx context.Context, client redis.UniversalClient, script *redis.Script, keys []string, args ...any) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := script.Run(ctx, client, keys, args...).Slice()
	return reply, callError(ctx, client, err)
}

// callError adds the error of the context to err if the context has ended. A socket returns
// another error, and may return it a moment before the context ends.
//
// If there was no reply, a cluster client reads in the background which node has which keys: a replica
// may have been promoted. By itself it does that once a minute, and after a redirect by another node.
func callError(ctx context.Context, client redis.UniversalClient, err error) error {
	if err == nil {
		return nil
	}
	if c, ok := client.(*redis.ClusterClient); ok && !isServerError(err) {
		c.ReloadState(ctx)
	}
	ended := ctx.Err()
	if deadline, ok := ctx.Deadline(); ended == nil && ok && !time.Now().Before(deadline) {
		ended = context.DeadlineExceeded
	}
	if ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// failed returns the error of a step, or nil if err is nil. Key is the key of Redis, if the step has one.
func failed(step, key string, err error) error {
	if err == nil {
		return nil
	}
	if key != "" {
		step += ": " + key
	}
	return fmt.Errorf("redisstore: %s: %w", step, err)
}

// errReply means that a script returned a reply of an unexpected form.
var errReply = errors.New("unexpected reply")

// isServerError reports whether the server returned err. Otherwise there was no reply.
func isServerError(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// maxMicros is the longest duration in a script, in microseconds. The numbers of Lua are exact up
// to here, even with the current time added.
const maxMicros = 1 << 52

// microseconds converts a duration for a script. A positive duration becomes at least 1.
func microseconds(d time.Duration) int64 {
	if d > 0 && d < time.Microsecond {
		return 1
	}
	return min(max(0, d.Microseconds()), maxMicros)
}

// duration converts microseconds of a script to a duration.
func duration(micros int64) time.Duration {
	return time.Duration(min(max(0, micros), maxMicros)) * time.Microsecond
}
