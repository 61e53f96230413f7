package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// Versions implements [store.Store], in one statement.
func (b *Breaker) Versions(ctx context.Context) (store.Versions, error) {
	var v store.Versions
	rows, err := b.db.QueryContext(ctx, b.sql.versions, b.name)
	if err != nil {
		return v, failed("versions", err)
	}
	defer rows.Close()
	for rows.Next() {
		var now int64
		var shard, epoch, number sql.NullInt64 // null if there are no shards
		if err := rows.Scan(&now, &shard, &epoch, &number); err != nil {
			return store.Versions{}, failed("versions", err)
		}
		v.Now = time.UnixMicro(now).UTC()
		if shard.Valid && shard.Int64 >= 0 && shard.Int64 < store.NumShards {
			v.Shards[shard.Int64] = store.Version{Epoch: uint64(epoch.Int64), Number: uint64(number.Int64)}
		}
	}
	if err := rows.Err(); err != nil {
		return store.Versions{}, failed("versions", err)
	}
	return v, nil
}

// Load implements [store.Store], in one statement for all shards.
func (b *Breaker) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	if len(shards) == 0 {
		return nil, ctx.Err()
	}
	found := make(map[int]*store.Shard, len(shards))
	args := make([]any, 1, 1+len(shards))
	args[0] = b.name
	for _, i := range shards {
		if i < 0 || i >= store.NumShards {
			return nil, fmt.Errorf("sqlstore: load: shard is %d: want 0 to %d", i, store.NumShards-1)
		}
		if found[i] == nil {
			found[i] = &store.Shard{Index: i}
			args = append(args, i)
		}
	}
	if err := b.read(ctx, found, args); err != nil {
		return nil, failed("load", err)
	}
	loaded := make([]store.Shard, len(shards))
	for k, i := range shards {
		loaded[k] = *found[i]
	}
	return loaded, nil
}

func (b *Breaker) read(ctx context.Context, found map[int]*store.Shard, args []any) error {
	query := b.dialect.bind(b.sql.load + repeated("?", len(args)-1) + ")")
	rows, err := b.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var shard int
		var epoch, number int64
		var id, data []byte
		if err := rows.Scan(&shard, &epoch, &number, &id, &data); err != nil {
			return err
		}
		s := found[shard]
		if s == nil {
			continue
		}
		s.Version = store.Version{Epoch: uint64(epoch), Number: uint64(number)}
		var record store.StoredRecord
		if copy(record.ID[:], id) < len(record.ID) || len(id) > len(record.ID) {
			continue // no record in this shard, or a row that is none of ours
		}
		record.Data = append([]byte{}, data...) // not nil, also if empty
		s.Records = append(s.Records, record)
	}
	return rows.Err()
}
