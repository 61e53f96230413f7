package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const tablesMissing = "the tables are missing: run what sqlstore.BreakerSchema or BucketSchema returns, or call CreateSchema"

// ErrNoTables means that the store's tables are not in the database.
var ErrNoTables = errors.New("sqlstore: " + tablesMissing)

// failed says at what step the database failed. The error of the driver is wrapped as it is.
func failed(step string, err error) error {
	if isTableMissing(err) {
		return &noTablesError{step: step, err: err}
	}
	return fmt.Errorf("sqlstore: %s: %w", step, err)
}

// noTablesError is ErrNoTables at a step. It says who speaks once, not twice.
type noTablesError struct {
	step string
	err  error // the driver's
}

func (e *noTablesError) Error() string {
	return fmt.Sprintf("sqlstore: %s: %s: %v", e.step, tablesMissing, e.err)
}

func (e *noTablesError) Unwrap() []error { return []error{ErrNoTables, e.err} }

// isTableMissing reports whether an error says that there is no such table. Nothing but advice depends on it.
func isTableMissing(err error) bool {
	return matches(err, []string{"42P01"}, "no such table", "Error 1146")
}

// isRetryable reports whether an error says that a statement has been taken back for the sake of another one, and may be put again: the one that
// was chosen to end a deadlock (MySQL's 1213, PostgreSQL's 40P01), or whose row has changed since it began (MariaDB's 1020, PostgreSQL's 40001).
func isRetryable(err error) bool {
	return matches(err, []string{"40001", "40P01"}, "Error 1213", "Error 1020")
}

// matches reports whether an error has one of some SQLSTATEs, or one of some words in it. Drivers have types of their own, of which we know none:
// where one has no SQLSTATE, it is looked for in the text as well.
func matches(err error, states []string, words ...string) bool {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return slices.Contains(states, coded.SQLState())
	}
	for _, state := range states {
		words = append(words, "SQLSTATE "+state)
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(err.Error(), word) })
}
