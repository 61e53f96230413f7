package sqlstore

import (
	"errors"
	"testing"
)

type stateError string

func (e stateError) Error() string    { return "relation does not exist" }
func (e stateError) SQLState() string { return string(e) }

func TestIsTableMissing(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"PostgreSQL":               {stateError("42P01"), true},
		"PostgreSQL, other":        {stateError("42703"), false},
		"PostgreSQL, text only":    {errors.New("ERROR: la relation n'existe pas (SQLSTATE 42P01)"), true},
		"MySQL":                    {errors.New("Error 1146 (42S02): Table 'x.y' doesn't exist"), true},
		"SQLite":                   {errors.New("SQL logic error: no such table: y (1)"), true},
		"something else":           {errors.New("connection refused"), false},
		"a column that is missing": {errors.New("no such column: y"), false},
	} {
		if got := isTableMissing(c.err); got != c.want {
			t.Errorf("%s: got %v want %v", name, got, c.want)
		}
	}
}

func TestIsRetryable(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"PostgreSQL, a deadlock":        {stateError("40P01"), true},
		"PostgreSQL, a row changed":     {stateError("40001"), true},
		"PostgreSQL, another":           {stateError("55P03"), false},
		"PostgreSQL, text only":         {errors.New("ERROR: Verklemmung (SQLSTATE 40P01)"), true},
		"MySQL, a deadlock":             {errors.New("Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"), true},
		"MariaDB, a row changed":        {errors.New("Error 1020 (HY000): Record has changed since last read in table 'b'"), true},
		"MySQL, a lock never got":       {errors.New("Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"), false},
		"SQLite, a file that is locked": {errors.New("database is locked (5) (SQLITE_BUSY)"), false},
	} {
		if got := isRetryable(c.err); got != c.want {
			t.Errorf("%s: got %v want %v", name, got, c.want)
		}
	}
}
