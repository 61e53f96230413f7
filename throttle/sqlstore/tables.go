package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"strings"
)

// hasTables reports whether a query that reads all tables, and no row of them, can be run.
func hasTables(ctx context.Context, db *sql.DB, query string) bool {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return false
	}
	defer rows.Close()
	for rows.Next() { // it has none
	}
	return rows.Err() == nil
}

// createTables runs the statements. PostgreSQL's IF NOT EXISTS fails if another process creates the same table meanwhile, so they take turns.
func createTables(ctx context.Context, db *sql.DB, d Dialect, prefix string, statements []string) error {
	if d != PostgreSQL {
		for _, s := range statements {
			if _, err := db.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	return inTransaction(ctx, db, d, func(tx *sql.Tx) error {
		turn := fnv.New32a()
		turn.Write([]byte("spillway " + prefix))
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(turn.Sum32())); err != nil {
			return err
		}
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTransaction commits what do has done, unless that fails.
func inTransaction(ctx context.Context, db *sql.DB, d Dialect, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, d.transaction())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of no effect after the commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// maxIdentifier is what all databases let a name have: PostgreSQL cuts longer ones.
const maxIdentifier = 63

// identifier refuses what is not the plain name of a table or column: ASCII letters, digits and underscores. With schema, one
// before a dot is allowed. A plain name in quotes can be nothing else to the database.
func identifier(field, name string, longest int, schema bool) error {
	want := fmt.Sprintf("1 to %d ASCII letters, digits and underscores, with a letter or underscore first", longest)
	rest := name
	if schema {
		want += "; a schema and a dot may stand before it"
		if before, after, found := strings.Cut(name, "."); found && plain(before, maxIdentifier) {
			rest = after
		}
	}
	if plain(rest, longest) {
		return nil
	}
	return fmt.Errorf("sqlstore: %s is %.80q: want %s", field, name, want)
}

func plain(name string, longest int) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= longest
}
