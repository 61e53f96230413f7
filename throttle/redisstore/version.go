package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// versionField is where a shard keeps its version, beside its records: "epoch number term".
const versionField = "version"

// The largest numbers that the scripts believe. They are far away, and exact in Lua.
const (
	mostEpoch  = 1<<53 - 1
	mostNumber = 1e15 - 1
)

// Versions implements [store.Store].
func (b *Breaker) Versions(ctx context.Context) (store.Versions, error) {
	if err := ctx.Err(); err != nil {
		return store.Versions{}, fmt.Errorf("redisstore: versions: %w", err)
	}
	var fields [store.NumShards]*redis.StringCmd
	pipe := b.client.Pipeline()
	clock := b.scripts.clock.EvalSha(ctx, pipe, []string{b.keys.lease})
	for i := range fields {
		fields[i] = pipe.HGet(ctx, b.keys.shards[i], versionField)
	}
	if err := b.exec(ctx, pipe); err != nil {
		return store.Versions{}, fmt.Errorf("redisstore: versions: %w", err)
	}
	var v store.Versions
	for i, field := range fields {
		text, err := field.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return store.Versions{}, fmt.Errorf("redisstore: versions: %s: %w", b.keys.shards[i], err)
		}
		v.Shards[i], _ = parseVersion(text)
	}
	var err error
	if v.Now, err = b.now(ctx, clock); err != nil {
		return store.Versions{}, fmt.Errorf("redisstore: versions: %s: %w", b.keys.lease, err)
	}
	return v, nil
}

// now reads the time from the answer to the clock's script. A pipe cannot repeat what a server did not know; this can.
func (b *Breaker) now(ctx context.Context, clock *redis.Cmd) (time.Time, error) {
	answer, err := clock.Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = b.run(ctx, b.scripts.clock, []string{b.keys.lease})
	}
	if err != nil {
		return time.Time{}, err
	}
	return readTime(answer)
}

func readTime(answer []any) (time.Time, error) {
	var part [2]int64
	for i := range part {
		digits := ""
		if len(answer) == len(part) {
			digits, _ = answer[i].(string)
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%w: %.200q", errAnswer, answer)
		}
		part[i] = n
	}
	return time.Unix(part[0], part[1]*int64(time.Microsecond)), nil
}

// parseVersion reads a version as apply.lua writes it and reads it again: what one of the two does not believe, the other must not either,
// or there would be versions that nobody could ever write after.
func parseVersion(text string) (v store.Version, ok bool) {
	var number [3]uint64
	rest := text
	for i := range number {
		digits, after, found := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(digits, 10, 64)
		if last := i == len(number)-1; err != nil || found == last || strconv.FormatUint(n, 10) != digits {
			return store.Version{}, false
		}
		number[i], rest = n, after
	}
	if number[0] > mostEpoch || number[1] > mostNumber {
		return store.Version{}, false
	}
	return store.Version{Epoch: number[0], Number: number[1]}, true
}

// answered reports whether an error is what a server said, rather than that there was no answer.
func answered(err error) bool {
	var said redis.Error
	return errors.As(err, &said)
}
