package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

const (
	rowsAtOnce  = 250     // of one statement
	bytesAtOnce = 1 << 20 // of one statement, unless one record has more: MySQL limits a packet
	beginnings  = 3       // how often a shard's row is made before we give up: somebody must be deleting it
)

// errNoShard is there if the shard has no row yet.
var errNoShard = errors.New("the shard's row keeps disappearing")

// Apply implements [store.Store], in one transaction. It first counts the write, if version and term allow it, which locks the
// shard's row and no other: writers of different shards never wait for each other.
func (b *Breaker) Apply(ctx context.Context, batch store.Batch) (store.Version, error) {
	if batch.Shard < 0 || batch.Shard >= store.NumShards {
		return store.Version{}, fmt.Errorf("sqlstore: apply: shard is %d: want 0 to %d", batch.Shard, store.NumShards-1)
	}
	if batch.Term > math.MaxInt64 {
		return store.Version{}, fmt.Errorf("sqlstore: apply: term is %d: want one that Campaign gave", batch.Term)
	}
	version, err := b.apply(ctx, batch)
	for n := 0; n < beginnings && errors.Is(err, errNoShard); n++ {
		// A row that counts nothing is the same as none, so this needs no transaction.
		if _, err = b.db.ExecContext(ctx, b.sql.begin, b.name, batch.Shard); err == nil {
			version, err = b.apply(ctx, batch)
		}
	}
	switch {
	case err == nil:
		return version, nil
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrFenced):
		return store.Version{}, err
	}
	return store.Version{}, failed("apply", err)
}

func (b *Breaker) apply(ctx context.Context, batch store.Batch) (version store.Version, err error) {
	err = b.inTransaction(ctx, func(tx *sql.Tx) error {
		good, err := b.claim(ctx, tx, batch)
		if err != nil {
			return err
		}
		version = batch.Expect
		if !good {
			return b.refuse(ctx, tx, batch)
		}
		if len(batch.Changes) == 0 {
			return nil
		}
		version.Number++
		if version.Epoch == 0 {
			if version, err = b.began(ctx, tx, batch.Shard); err != nil {
				return err
			}
		}
		return b.write(ctx, tx, batch)
	})
	return version, err
}

// claim counts the write. It reports false if nothing was to be counted.
func (b *Breaker) claim(ctx context.Context, tx *sql.Tx, batch store.Batch) (bool, error) {
	query, highest := b.sql.claim, int64(batch.Term)
	if batch.Term == 0 {
		highest = math.MaxInt64
	}
	args := []any{int64(batch.Term), b.name, batch.Shard, int64(batch.Expect.Epoch), int64(batch.Expect.Number), highest}
	if len(batch.Changes) == 0 {
		query = b.sql.leaveTerm
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

// refuse says why nothing was counted. It returns nil if there was no reason: MySQL does not count a row that stays as it was.
func (b *Breaker) refuse(ctx context.Context, tx *sql.Tx, batch store.Batch) error {
	version, term, err := b.shard(ctx, tx, batch.Shard)
	switch {
	case errors.Is(err, errNoShard) && batch.Expect != store.Version{}:
		return store.ErrConflict
	case err != nil:
		return err
	case batch.Term != 0 && batch.Term < term:
		return store.ErrFenced
	case version != batch.Expect || len(batch.Changes) > 0:
		return store.ErrConflict
	}
	return nil
}

// shard returns what the transaction sees of the shard's row.
func (b *Breaker) shard(ctx context.Context, tx *sql.Tx, shard int) (v store.Version, term uint64, err error) {
	var epoch, number, t int64
	err = tx.QueryRowContext(ctx, b.sql.shard, b.name, shard).Scan(&epoch, &number, &t)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoShard
	}
	return store.Version{Epoch: uint64(epoch), Number: uint64(number)}, uint64(t), err
}

// began empties a shard that was just begun, and returns its version. Records without a shard are of one that was lost.
func (b *Breaker) began(ctx context.Context, tx *sql.Tx, shard int) (store.Version, error) {
	if _, err := tx.ExecContext(ctx, b.sql.empty, b.name, shard); err != nil {
		return store.Version{}, err
	}
	v, _, err := b.shard(ctx, tx, shard)
	return v, err
}

// write makes the changes, of which the last one counts if a record has several.
func (b *Breaker) write(ctx context.Context, tx *sql.Tx, batch store.Batch) error {
	last := make(map[store.RecordID]int, len(batch.Changes))
	for i, c := range batch.Changes {
		last[c.ID] = i
	}
	var deletions, puts rows
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
		query := b.dialect.bind(b.sql.deleteRecords + repeated("?", chunk.n) + ")")
		if _, err := tx.ExecContext(ctx, query, append([]any{b.name, batch.Shard}, chunk.args...)...); err != nil {
			return err
		}
	}
	for _, chunk := range puts.chunks {
		query := b.dialect.bind(b.sql.putRecords + repeated("(?, ?, ?, ?)", chunk.n) + b.sql.putRecordsEnd)
		if _, err := tx.ExecContext(ctx, query, chunk.args...); err != nil {
			return err
		}
	}
	return nil
}

// rows are the arguments of a list of rows, in chunks that fit into a statement each.
type rows struct{ chunks []chunk }

type chunk struct {
	n, bytes int
	args     []any
}

func (r *rows) add(bytes int, args ...any) {
	last := len(r.chunks) - 1
	if last < 0 || r.chunks[last].n == rowsAtOnce || r.chunks[last].bytes+bytes > bytesAtOnce {
		r.chunks = append(r.chunks, chunk{})
		last++
	}
	c := &r.chunks[last]
	c.n++
	c.bytes += bytes
	c.args = append(c.args, args...)
}
