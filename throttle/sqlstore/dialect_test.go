package sqlstore

import (
	"testing"
)

func TestBind(t *testing.T) {
	if got, want := PostgreSQL.bind("a = ? AND b IN (?, ?)"), "a = $1 AND b IN ($2, $3)"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
	for _, d := range []Dialect{MySQL, SQLite} {
		if got := d.bind("a = ?"); got != "a = ?" {
			t.Errorf("%v: got %s", d, got)
		}
	}
}
