package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// Versions implements [breakerstore.Store]. It runs one statement.
func (b *Breaker) Versions(ctx context.Context) (breakerstore.Versions, error) {
	var v breakerstore.Versions
	err := eachRow(ctx, b.db, b.sql.versions, []any{b.name}, func(rows *sql.Rows) error {
		var now int64
		var shard, epoch, number sql.NullInt64 // NULL if there are no shards
		if err := rows.Scan(&now, &shard, &epoch, &number); err != nil {
			return err
		}
		v.Now = time.UnixMicro(now).UTC()
		if shard.Valid && shard.Int64 >= 0 && shard.Int64 < breakerstore.NumShards {
			v.Shards[shard.Int64] = breakerstore.Version{Epoch: uint64(epoch.Int64), Number: uint64(number.Int64)}
		}
		return nil
	})
	if err != nil {
		return breakerstore.Versions{}, stepFailed("versions", err)
	}
	return v, nil
}

// Load implements [breakerstore.Store]. It runs one statement for all shards.
func (b *Breaker) Load(ctx context.Context, shards []int) ([]breakerstore.Shard, error) {
	if len(shards) == 0 {
		return nil, ctx.Err()
	}
	found := make(map[int]*breakerstore.Shard, len(shards))
	args := make([]any, 1, 1+len(shards))
	args[0] = b.name
	for _, i := range shards {
		if i < 0 || i >= breakerstore.NumShards {
			return nil, fmt.Errorf("sqlstore: load: shard is %d: want 0 to %d", i, breakerstore.NumShards-1)
		}
		if found[i] == nil {
			found[i] = &breakerstore.Shard{Index: i}
			args = append(args, i)
		}
	}
	if err := b.read(ctx, found, args); err != nil {
		return nil, stepFailed("load", err)
	}
	loaded := make([]breakerstore.Shard, len(shards))
	for k, i := range shards {
		loaded[k] = *found[i]
	}
	return loaded, nil
}

func (b *Breaker) read(ctx context.Context, found map[int]*breakerstore.Shard, args []any) error {
	return eachRow(ctx, b.db, b.sql.load.of(len(args)-1), args, func(rows *sql.Rows) error {
		var shard int
		var epoch, number int64
		var id, data []byte
		if err := rows.Scan(&shard, &epoch, &number, &id, &data); err != nil {
			return err
		}
		s := found[shard]
		if s == nil {
			return nil
		}
		s.Version = breakerstore.Version{Epoch: uint64(epoch), Number: uint64(number)}
		var record breakerstore.StoredRecord
		if copy(record.ID[:], id) < len(record.ID) || len(id) > len(record.ID) {
			return nil // the shard has no records, or the row has another form
		}
		record.Data = append([]byte{}, data...) // empty data must not be nil
		s.Records = append(s.Records, record)
		return nil
	})
}

const (
	rowsPerStatement  = 250     // the most rows of one statement
	bytesPerStatement = 1 << 20 // the most data of one statement with several rows: MySQL limits the size of a packet
	maxShardInserts   = 3       // how often Apply inserts a missing row of a shard
)

// errNoShard means that the shard has no row. Apply inserts it, and returns errNoShard only if
// another client deletes it each time.
var errNoShard = errors.New("the shard's row was deleted repeatedly")

// Apply implements [breakerstore.Store]. It runs one transaction. The first statement increments
// the version if version and term are the expected ones, and so locks the shard's row. Writers of
// different shards never wait for each other.
func (b *Breaker) Apply(ctx context.Context, batch breakerstore.Batch) (breakerstore.Version, error) {
	if batch.Shard < 0 || batch.Shard >= breakerstore.NumShards {
		return breakerstore.Version{}, fmt.Errorf("sqlstore: apply: shard is %d: want 0 to %d", batch.Shard, breakerstore.NumShards-1)
	}
	if batch.Term > math.MaxInt64 {
		return breakerstore.Version{}, fmt.Errorf("sqlstore: apply: term is %d: want one that Campaign returned", batch.Term)
	}
	version, err := b.apply(ctx, batch)
	for n := 0; n < maxShardInserts && errors.Is(err, errNoShard); n++ {
		// A row of zeros means the same as no row, so the insert needs no transaction.
		if _, err = b.db.ExecContext(ctx, b.sql.insertShard, b.name, batch.Shard); err == nil {
			version, err = b.apply(ctx, batch)
		}
	}
	switch {
	case err == nil:
		return version, nil
	case errors.Is(err, breakerstore.ErrConflict), errors.Is(err, breakerstore.ErrFenced):
		return breakerstore.Version{}, err
	}
	return breakerstore.Version{}, stepFailed("apply", err)
}

func (b *Breaker) apply(ctx context.Context, batch breakerstore.Batch) (version breakerstore.Version, err error) {
	err = inTransaction(ctx, b.db, b.dialect, func(tx *sql.Tx) error {
		advanced, err := b.advance(ctx, tx, batch)
		if err != nil {
			return err
		}
		version = batch.Expect
		if !advanced {
			return b.rejection(ctx, tx, batch)
		}
		if len(batch.Changes) == 0 {
			return nil
		}
		version.Number++
		if version.Epoch == 0 {
			if version, err = b.startShard(ctx, tx, batch.Shard); err != nil {
				return err
			}
		}
		return b.write(ctx, tx, batch)
	})
	return version, err
}

// advance increments the shard's version. It returns false if no row was changed.
func (b *Breaker) advance(ctx context.Context, tx *sql.Tx, batch breakerstore.Batch) (bool, error) {
	query, maxTerm := b.sql.advance, int64(batch.Term)
	if batch.Term == 0 {
		maxTerm = math.MaxInt64
	}
	args := []any{int64(batch.Term), b.name, batch.Shard, int64(batch.Expect.Epoch), int64(batch.Expect.Number), maxTerm}
	if len(batch.Changes) == 0 {
		query = b.sql.raiseTerm
	} else if b.notify != "" {
		args = append(args, b.notify)
	}
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// rejection returns the reason for which no row was changed. It returns nil if there is no reason:
// MySQL does not count a row as changed if all its values stay the same.
func (b *Breaker) rejection(ctx context.Context, tx *sql.Tx, batch breakerstore.Batch) error {
	version, term, err := b.shard(ctx, tx, batch.Shard)
	switch {
	case errors.Is(err, errNoShard) && batch.Expect != breakerstore.Version{}:
		return breakerstore.ErrConflict
	case err != nil:
		return err
	case batch.Term != 0 && batch.Term < term:
		return breakerstore.ErrFenced
	case version != batch.Expect || len(batch.Changes) > 0:
		return breakerstore.ErrConflict
	}
	return nil
}

// shard reads the shard's row in the transaction.
func (b *Breaker) shard(ctx context.Context, tx *sql.Tx, shard int) (v breakerstore.Version, term uint64, err error) {
	var epoch, number, t int64
	err = tx.QueryRowContext(ctx, b.sql.shard, b.name, shard).Scan(&epoch, &number, &t)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoShard
	}
	return breakerstore.Version{Epoch: uint64(epoch), Number: uint64(number)}, uint64(t), err
}

// startShard deletes the records of a new shard, and returns its version. Such records are left
// over if the shard's row was lost.
func (b *Breaker) startShard(ctx context.Context, tx *sql.Tx, shard int) (breakerstore.Version, error) {
	if _, err := tx.ExecContext(ctx, b.sql.clearShard, b.name, shard); err != nil {
		return breakerstore.Version{}, err
	}
	v, _, err := b.shard(ctx, tx, shard)
	return v, err
}

// write makes the changes. If a record has several changes, write makes the last one.
func (b *Breaker) write(ctx context.Context, tx *sql.Tx, batch breakerstore.Batch) error {
	last := make(map[breakerstore.RecordID]int, len(batch.Changes))
	for i, c := range batch.Changes {
		last[c.ID] = i
	}
	var deletions, puts rowArgs
	for i, c := range batch.Changes {
		switch {
		case last[c.ID] != i:
		case c.Data == nil:
			deletions.add(len(c.ID), c.ID[:])
		default:
			puts.add(len(c.Data), b.name, batch.Shard, c.ID[:], c.Data)
		}
	}
	for _, chunk := range deletions.chunks {
		args := append([]any{b.name, batch.Shard}, chunk.args...)
		if _, err := tx.ExecContext(ctx, b.sql.deleteRecords.of(chunk.n), args...); err != nil {
			return err
		}
	}
	for _, chunk := range puts.chunks {
		if _, err := tx.ExecContext(ctx, b.sql.putRecords.of(chunk.n), chunk.args...); err != nil {
			return err
		}
	}
	return nil
}

// rowArgs are the arguments of a list of rows, split into one chunk for each statement.
type rowArgs struct{ chunks []rowChunk }

type rowChunk struct {
	n, bytes int
	args     []any
}

func (r *rowArgs) add(bytes int, args ...any) {
	last := len(r.chunks) - 1
	if last < 0 || r.chunks[last].n == rowsPerStatement || r.chunks[last].bytes+bytes > bytesPerStatement {
		r.chunks = append(r.chunks, rowChunk{})
		last++
	}
	c := &r.chunks[last]
	c.n++
	c.bytes += bytes
	c.args = append(c.args, args...)
}
