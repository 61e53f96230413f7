package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

const (
	defaultPrefix = "spillway_"
	maxPrefix     = 40 // so that no table has a name of more than maxIdentifier
	maxIdentifier = 63 // PostgreSQL cuts longer names
)

// checkPrefix returns an error for an invalid prefix of table names. An empty prefix is the
// default.
func checkPrefix(field, prefix string) error {
	if prefix == "" {
		return nil
	}
	return checkIdentifier(field, prefix, maxPrefix, true)
}

// checkIdentifier returns an error unless the name is ASCII letters, digits and underscores. In
// quotes, the database takes such a name for nothing else. With schema, the name may begin with a
// schema and a dot.
func checkIdentifier(field, name string, most int, schema bool) error {
	want := fmt.Sprintf("1 to %d ASCII letters, digits and underscores, with a letter or underscore first", most)
	rest := name
	if schema {
		want += "; a schema and a dot may come before it"
		if before, after, found := strings.Cut(name, "."); found && isIdentifier(before, maxIdentifier) {
			rest = after
		}
	}
	switch {
	case isIdentifier(rest, most):
		return nil
	case name == "":
		return fmt.Errorf("sqlstore: %s is missing: want %s", field, want)
	}
	return fmt.Errorf("sqlstore: %s is %s: want %s", field, check.Shown(name), want)
}

func isIdentifier(name string, most int) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= most
}

// tableNames are pairs of a placeholder in a statement, and the name of a table in quotes. Dialect and prefix must
// be valid.
func tableNames(d Dialect, prefix string) (names []string) {
	prefix = cmp.Or(prefix, defaultPrefix)
	for _, table := range []string{"lease", "shard", "record", "probe"} {
		names = append(names, "{"+table+"}", d.quote(prefix+"breaker_"+table))
	}
	return append(names, "{bucket}", d.quote(prefix+"bucket"))
}

// schema returns statements that create tables, or an error for an invalid dialect or prefix.
func schema(owner string, d Dialect, prefix string, tables ...string) ([]string, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if err := checkPrefix("prefix of "+owner, prefix); err != nil {
		return nil, err
	}
	t := newTexts(d, prefix)
	for i := range tables {
		tables[i] = t.names.Replace(tables[i])
	}
	return tables, nil
}

// createSchema creates the tables of a store, unless a query that names them succeeds: a service often
// has no permission to create tables.
func createSchema(ctx context.Context, db *sql.DB, d Dialect, prefix, query string, schema func(Dialect, string) ([]string, error)) error {
	if eachRow(ctx, db, query, nil, func(*sql.Rows) error { return nil }) == nil {
		return nil
	}
	statements, err := schema(d, prefix)
	if err != nil {
		return err
	}
	return stepFailed("create schema", createTables(ctx, db, d, prefix, statements))
}

// createTables runs the statements. In PostgreSQL, CREATE TABLE IF NOT EXISTS fails if another
// process creates the same table at the same time, so createTables takes a lock there.
func createTables(ctx context.Context, db *sql.DB, d Dialect, prefix string, statements []string) error {
	create := func(exec func(context.Context, string, ...any) (sql.Result, error)) error {
		for _, s := range statements {
			if _, err := exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	if d != PostgreSQL {
		return create(db.ExecContext)
	}
	return inTransaction(ctx, db, d, func(tx *sql.Tx) error {
		lock := fnv.New32a()
		lock.Write([]byte("spillway " + prefix))
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lock.Sum32())); err != nil {
			return err
		}
		return create(tx.ExecContext)
	})
}

// inTransaction calls do in a transaction. It commits if do returns nil, and rolls back otherwise.
func inTransaction(ctx context.Context, db querier, d Dialect, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, d.transaction())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
