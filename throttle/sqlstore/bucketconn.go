package sqlstore

import (
	"context"
	"database/sql"
)

// asker is what statements are put to: a pool of connections, or one of them.
type asker interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ask lets a func put statements to the database. If there is an error, the func may be at it still, so what it writes to must not be looked
// at then.
//
// To SQLite they are put with a context that does not end, by a goroutine that nobody waits for when the caller's has ended. A statement waits
// for the file's lock as long as busy_timeout allows, whatever its context says, and that would hold the caller too. And a driver that is
// interrupted just when a row has been found may forget to finish the statement (modernc.org/sqlite before 1.40.1 does): what it wrote is never
// committed, nor is what others write on that connection, and the file is locked for as long as the process lives.
func (b *Bucket) ask(ctx context.Context, statements func(ctx context.Context, db asker) error) error {
	if b.dialect != SQLite || ctx.Done() == nil {
		return again(ctx, func() error { return statements(ctx, b.db) })
	}
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer conn.Close()
		done <- statements(context.WithoutCancel(ctx), conn)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// again puts statements once more while the database takes them back. MySQL does so with an INSERT ... ON DUPLICATE KEY UPDATE beside a DELETE
// of the same row, as of a bucket that is reset: each holds a lock that the other waits for, and nothing of one of them is done.
func again(ctx context.Context, statements func() error) (err error) {
	for range attemptsToTake {
		if err = statements(); err == nil || ctx.Err() != nil || !takenBack(err) {
			return err
		}
	}
	return err
}

// change is a statement that returns no rows.
func (b *Bucket) change(ctx context.Context, query string, args ...any) (changed int64, err error) {
	told := make(chan int64, 1)
	err = b.ask(ctx, func(ctx context.Context, db asker) error {
		result, err := db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		told <- n
		return err
	})
	if err != nil {
		return 0, err
	}
	return <-told, nil
}
