package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// Versions implements [breaker.Store], in one statement.
func (b *Breaker) Versions(ctx context.Context) (breaker.Versions, error) {
	var v breaker.Versions
	rows, err := b.db.QueryContext(ctx, b.sql.versions, b.name)
	if err != nil {
		return v, failed("versions", err)
	}
	defer rows.Close()
	for rows.Next() {
		var now int64
		var shard, epoch, number sql.NullInt64 // null if there are no shards
		if err := rows.Scan(&now, &shard, &epoch, &number); err != nil {
			return breaker.Versions{}, failed("versions", err)
		}
		v.Now = time.UnixMicro(now).UTC()
		if shard.Valid && shard.Int64 >= 0 && shard.Int64 < breaker.NumShards {
			v.Shards[shard.Int64] = breaker.Version{Epoch: uint64(epoch.Int64), Number: uint64(number.Int64)}
		}
	}
	if err := rows.Err(); err != nil {
		return breaker.Versions{}, failed("versions", err)
	}
	return v, nil
}

// Load implements [breaker.Store], in one statement for all shards.
func (b *Breaker) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	if len(shards) == 0 {
		return nil, ctx.Err()
	}
	found := make(map[int]*breaker.Shard, len(shards))
	args := make([]any, 1, 1+len(shards))
	args[0] = b.name
	for _, i := range shards {
		if i < 0 || i >= breaker.NumShards {
			return nil, fmt.Errorf("sqlstore: load: shard is %d: want 0 to %d", i, breaker.NumShards-1)
		}
		if found[i] == nil {
			found[i] = &breaker.Shard{Index: i}
			args = append(args, i)
		}
	}
	if err := b.read(ctx, found, args); err != nil {
		return nil, failed("load", err)
	}
	loaded := make([]breaker.Shard, len(shards))
	for k, i := range shards {
		loaded[k] = *found[i]
	}
	return loaded, nil
}

func (b *Breaker) read(ctx context.Context, found map[int]*breaker.Shard, args []any) error {
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
		s.Version = breaker.Version{Epoch: uint64(epoch), Number: uint64(number)}
		var record breaker.StoredRecord
		if copy(record.ID[:], id) < len(record.ID) || len(id) > len(record.ID) {
			continue // no record in this shard, or a row that is none of ours
		}
		record.Data = append([]byte{}, data...) // not nil, also if empty
		s.Records = append(s.Records, record)
	}
	return rows.Err()
}
