package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoTables means that the store's tables are not in the database.
var ErrNoTables = errors.New("the tables are missing: run what sqlstore.BreakerSchema or BucketSchema returns, or call CreateSchema")

// failed says at what step the database failed. The error of the driver is wrapped as it is.
func failed(step string, err error) error {
	if tableMissing(err) {
		return fmt.Errorf("sqlstore: %s: %w: %w", step, ErrNoTables, err)
	}
	return fmt.Errorf("sqlstore: %s: %w", step, err)
}

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
