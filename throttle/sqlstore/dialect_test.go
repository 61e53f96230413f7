package sqlstore

import (
	"testing"
)

func TestBind(t *testing.T) {
	equals(t, PostgreSQL.bind("a = ? AND b IN (?, ?)"), "a = $1 AND b IN ($2, $3)", "PostgreSQL")
	for _, d := range []Dialect{MySQL, SQLite} {
		equals(t, d.bind("a = ?"), "a = ?", "%v", d)
	}
}
