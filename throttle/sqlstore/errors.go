package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoTables means that the database does not have the tables of the store. [BreakerSchema] and
// [BucketSchema] return the statements that create them.
var ErrNoTables = errors.New("the tables are missing: run the statements of sqlstore.BreakerSchema or BucketSchema, or call CreateSchema")

var errNoDB = errors.New("sqlstore: db is nil")

// stepFailed returns the error of a step of a store, which wraps the driver's error, or nil if that is nil.
func stepFailed(step string, err error) error {
	if err == nil {
		return nil
	}
	if isTableMissing(err) {
		return fmt.Errorf("sqlstore: %s: %w: %w", step, ErrNoTables, err)
	}
	return fmt.Errorf("sqlstore: %s: %w", step, err)
}

// isTableMissing reports whether the database has returned that a table does not exist. Only the
// advice in the error's text depends on it.
func isTableMissing(err error) bool {
	return matches(err, []string{"42P01"}, "no such table", "Error 1146")
}

// isRetryable reports whether the database has undone a statement because of another one, so that
// it may be sent again. That is the victim of a deadlock (MySQL 1213, PostgreSQL 40P01), or a
// statement whose row has changed since it began (MariaDB 1020, PostgreSQL 40001). The same holds for a
// transaction that was rolled back because of errRowInserted.
func isRetryable(err error) bool {
	return errors.Is(err, errRowInserted) || matches(err, []string{"40001", "40P01"}, "Error 1213", "Error 1020")
}

// matches reports whether err has one of the SQLSTATEs, or a text that contains one of texts. The
// package imports no driver, so it cannot use their error types. If the error has no SQLState
// method, matches searches its text for the SQLSTATEs too.
func matches(err error, states []string, texts ...string) bool {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return slices.Contains(states, coded.SQLState())
	}
	for _, state := range states {
		texts = append(texts, "SQLSTATE "+state)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}
