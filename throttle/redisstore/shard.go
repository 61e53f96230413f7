package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// Load implements [store.Store].
func (b *Breaker) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redisstore: load: %w", err)
	}
	commands := make([]*redis.MapStringStringCmd, len(shards))
	pipe := b.client.Pipeline()
	for i, shard := range shards {
		if err := checkShard(shard); err != nil {
			return nil, fmt.Errorf("redisstore: load: %w", err)
		}
		commands[i] = pipe.HGetAll(ctx, b.keys.shards[shard])
	}
	if err := b.exec(ctx, pipe); err != nil {
		return nil, fmt.Errorf("redisstore: load: %w", err)
	}
	loaded := make([]store.Shard, len(shards))
	for i, shard := range shards {
		fields, err := commands[i].Result()
		if err != nil {
			return nil, fmt.Errorf("redisstore: load: %s: %w", b.keys.shards[shard], err)
		}
		loaded[i] = readShard(shard, fields)
	}
	return loaded, nil
}

// readShard reads all fields of a shard. Without a version that can be read it is lost: the next writer begins it anew.
func readShard(index int, fields map[string]string) store.Shard {
	shard := store.Shard{Index: index}
	version, ok := parseVersion(fields[versionField])
	if !ok {
		return shard
	}
	shard.Version = version
	shard.Records = make([]store.StoredRecord, 0, len(fields)-1)
	for name, data := range fields {
		var id store.RecordID
		if len(name) == len(id) { // no other field is, and nobody else has written here
			copy(id[:], name)
			shard.Records = append(shard.Records, store.StoredRecord{ID: id, Data: []byte(data)})
		}
	}
	return shard
}

// Apply implements [store.Store].
func (b *Breaker) Apply(ctx context.Context, batch store.Batch) (store.Version, error) {
	if err := checkShard(batch.Shard); err != nil {
		return store.Version{}, fmt.Errorf("redisstore: apply: %w", err)
	}
	key := b.keys.shards[batch.Shard]
	answer, err := b.run(ctx, b.scripts.apply, []string{key}, b.applyArgs(batch)...)
	if err != nil {
		return store.Version{}, fmt.Errorf("redisstore: apply: %s: %w", key, err)
	}
	version, err := readApplied(answer)
	if err != nil {
		return store.Version{}, fmt.Errorf("redisstore: apply: %s: %w", key, err)
	}
	return version, nil
}

func (b *Breaker) applyArgs(batch store.Batch) []any {
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

func readApplied(answer []any) (store.Version, error) {
	words := make([]string, len(answer))
	for i := range answer {
		words[i], _ = answer[i].(string)
	}
	switch said := strings.Join(words, " "); said {
	case "fenced":
		return store.Version{}, store.ErrFenced
	case "conflict":
		return store.Version{}, store.ErrConflict
	default:
		version, ok := parseVersion(said + " 0")
		if !ok {
			return store.Version{}, fmt.Errorf("%w: %.200q", errAnswer, answer)
		}
		return version, nil
	}
}

func checkShard(shard int) error {
	if shard < 0 || shard >= store.NumShards {
		return fmt.Errorf("shard is %d: want 0 to %d", shard, store.NumShards-1)
	}
	return nil
}

// exec sends what the pipe has gathered, and returns what went wrong with sending it. A field that is not there is nothing wrong, and
// what a server has answered to one command is for that command to say.
func (b *Breaker) exec(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !answered(err) {
		return ended(ctx, err)
	}
	return nil
}
