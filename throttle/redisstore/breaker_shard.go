package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// Load implements [breakerstore.Store].
func (b *Breaker) Load(ctx context.Context, shards []int) ([]breakerstore.Shard, error) {
	commands := make([]*redis.MapStringStringCmd, len(shards))
	pipe := b.client.Pipeline()
	for i, shard := range shards {
		if err := checkShard(shard); err != nil {
			return nil, failed("load", "", err)
		}
		commands[i] = pipe.HGetAll(ctx, b.keys.shards[shard])
	}
	if err := b.exec(ctx, pipe); err != nil {
		return nil, failed("load", "", err)
	}
	loaded := make([]breakerstore.Shard, len(shards))
	for i, shard := range shards {
		fields, err := commands[i].Result()
		if err != nil {
			return nil, failed("load", b.keys.shards[shard], err)
		}
		loaded[i] = parseShard(shard, fields)
	}
	return loaded, nil
}

// parseShard parses all fields of a shard. If the version is invalid, the shard is lost: it is
// returned empty, and the next writer clears it.
func parseShard(index int, fields map[string]string) breakerstore.Shard {
	shard := breakerstore.Shard{Index: index}
	version, ok := parseVersion(fields[versionField])
	if !ok {
		return shard
	}
	shard.Version = version
	shard.Records = make([]breakerstore.StoredRecord, 0, len(fields)-1)
	for name, data := range fields {
		var id breakerstore.RecordID
		if len(name) == len(id) { // only record IDs have this length
			copy(id[:], name)
			shard.Records = append(shard.Records, breakerstore.StoredRecord{ID: id, Data: []byte(data)})
		}
	}
	return shard
}

// Apply implements [breakerstore.Store].
func (b *Breaker) Apply(ctx context.Context, batch breakerstore.Batch) (version breakerstore.Version, err error) {
	if err := checkShard(batch.Shard); err != nil {
		return version, failed("apply", "", err)
	}
	key := b.keys.shards[batch.Shard]
	reply, err := run(ctx, b.client, b.scripts.apply, []string{key}, b.applyArgs(batch)...)
	if err == nil {
		version, err = parseApplied(reply)
	}
	return version, failed("apply", key, err)
}

func (b *Breaker) applyArgs(batch breakerstore.Batch) []any {
	args := make([]any, 0, 5+3*len(batch.Changes))
	args = append(args, strconv.FormatUint(batch.Term, 10), strconv.FormatUint(batch.Expect.Epoch, 10),
		strconv.FormatUint(batch.Expect.Number, 10), b.keys.change, batch.Shard)
	for _, c := range batch.Changes {
		write := 1
		if c.Data == nil {
			write = 0
		}
		args = append(args, write, c.ID[:], c.Data)
	}
	return args
}

func parseApplied(reply []any) (breakerstore.Version, error) {
	fields := make([]string, len(reply))
	for i := range reply {
		fields[i], _ = reply[i].(string)
	}
	switch text := strings.Join(fields, " "); text {
	case "fenced":
		return breakerstore.Version{}, breakerstore.ErrFenced
	case "conflict":
		return breakerstore.Version{}, breakerstore.ErrConflict
	default:
		version, ok := parseVersion(text + " 0")
		if !ok {
			return breakerstore.Version{}, fmt.Errorf("%w: %.200q", errReply, reply)
		}
		return version, nil
	}
}

func checkShard(shard int) error {
	if shard < 0 || shard >= breakerstore.NumShards {
		return fmt.Errorf("shard is %d: want 0 to %d", shard, breakerstore.NumShards-1)
	}
	return nil
}

// exec sends the pipeline, unless the context has ended. It returns an error if there was no reply. Errors that the server
// returned, also for a missing field, are results of their commands.
func (b *Breaker) exec(ctx context.Context, pipe redis.Pipeliner) error {
	if err := ctx.Err(); err != nil || pipe.Len() == 0 {
		return err
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !isServerError(err) {
		return callError(ctx, b.client, err)
	}
	return nil
}

// versionField is the field of a shard with its version: "epoch number term".
const versionField = "version"

// The largest numbers in a valid version. They are exact in Lua. breaker_apply.lua has the same
// limits.
const (
	maxEpoch  = 1<<53 - 1
	maxNumber = 1e15 - 1
)

// Versions implements [breakerstore.Store].
func (b *Breaker) Versions(ctx context.Context) (breakerstore.Versions, error) {
	var fields [breakerstore.NumShards]*redis.StringCmd
	pipe := b.client.Pipeline()
	clock := b.scripts.clock.Eval(ctx, pipe, []string{b.keys.lease}) // the text, because a pipeline cannot send it later
	for i := range fields {
		fields[i] = pipe.HGet(ctx, b.keys.shards[i], versionField)
	}
	if err := b.exec(ctx, pipe); err != nil {
		return breakerstore.Versions{}, failed("versions", "", err)
	}
	var v breakerstore.Versions
	for i, field := range fields {
		text, err := field.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return breakerstore.Versions{}, failed("versions", b.keys.shards[i], err)
		}
		v.Shards[i], _ = parseVersion(text)
	}
	reply, err := clock.Slice()
	if err == nil {
		v.Now, err = parseTime(reply)
	}
	return v, failed("versions", b.keys.lease, err)
}

func parseTime(reply []any) (time.Time, error) {
	var part [2]int64
	for i := range part {
		digits := ""
		if len(reply) == len(part) {
			digits, _ = reply[i].(string)
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%w: %.200q", errReply, reply)
		}
		part[i] = n
	}
	return time.Unix(part[0], part[1]*int64(time.Microsecond)), nil
}

// parseVersion parses a version that breaker_apply.lua wrote. Both must accept the same texts. A
// shard with a version that only one of them accepts could never be written again.
func parseVersion(text string) (v breakerstore.Version, ok bool) {
	var number [3]uint64
	rest := text
	for i := range number {
		digits, after, found := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(digits, 10, 64)
		if last := i == len(number)-1; err != nil || found == last || strconv.FormatUint(n, 10) != digits {
			return breakerstore.Version{}, false
		}
		number[i], rest = n, after
	}
	if number[0] > maxEpoch || number[1] > maxNumber {
		return breakerstore.Version{}, false
	}
	return breakerstore.Version{Epoch: number[0], Number: number[1]}, true
}
