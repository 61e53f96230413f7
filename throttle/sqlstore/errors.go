package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

const tablesMissing = "the tables are missing: run what sqlstore.BreakerSchema or BucketSchema returns, or call CreateSchema"

// ErrNoTables means that the store's tables are not in the database.
var ErrNoTables = errors.New("sqlstore: " + tablesMissing)

// failed says at what step the database failed. The error of the driver is wrapped as it is.
func failed(step string, err error) error {
	if tableMissing(err) {
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

// tableMissing reports whether an error says that there is no such table. Drivers have types of their own, of which we know none, so the
// codes are looked for in the text; nothing but advice depends on it.
func tableMissing(err error) bool {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState() == "42P01"
	}
	text := err.Error()
	return strings.Contains(text, "no such table") || strings.Contains(text, "Error 1146") || strings.Contains(text, "42P01")
}
