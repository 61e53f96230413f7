package sqlstore

import (
	"errors"
	"testing"
)

type stateError string

func (e stateError) Error() string    { return "relation does not exist" }
func (e stateError) SQLState() string { return string(e) }

func TestErrorsOfDatabases(t *testing.T) {
	for name, c := range map[string]struct {
		err                error
		missing, retryable bool
	}{
		"PostgreSQL, no table":            {stateError("42P01"), true, false},
		"PostgreSQL, no column":           {stateError("42703"), false, false},
		"PostgreSQL, no table, text only": {errors.New("ERROR: la relation n'existe pas (SQLSTATE 42P01)"), true, false},
		"PostgreSQL, a deadlock":          {stateError("40P01"), false, true},
		"PostgreSQL, a row changed":       {stateError("40001"), false, true},
		"PostgreSQL, a lock never got":    {stateError("55P03"), false, false},
		"PostgreSQL, deadlock, text only": {errors.New("ERROR: Verklemmung (SQLSTATE 40P01)"), false, true},
		"MySQL, no table":                 {errors.New("Error 1146 (42S02): Table 'x.y' doesn't exist"), true, false},
		"MySQL, a deadlock":               {errors.New("Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"), false, true},
		"MySQL, a lock never got":         {errors.New("Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"), false, false},
		"MariaDB, a row changed":          {errors.New("Error 1020 (HY000): Record has changed since last read in table 'b'"), false, true},
		"SQLite, no table":                {errors.New("SQL logic error: no such table: y (1)"), true, false},
		"SQLite, no column":               {errors.New("no such column: y"), false, false},
		"SQLite, a file that is locked":   {errors.New("database is locked (5) (SQLITE_BUSY)"), false, false},
		"no connection":                   {errors.New("connection refused"), false, false},
	} {
		if missing, retryable := isTableMissing(c.err), isRetryable(c.err); missing != c.missing || retryable != c.retryable {
			t.Errorf("%s: got table missing %v, retryable %v want %v, %v", name, missing, retryable, c.missing, c.retryable)
		}
	}
}
