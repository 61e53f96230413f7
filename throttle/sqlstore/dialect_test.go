package sqlstore

import (
	"testing"
)

func TestDialectAndTimeTypeNames(t *testing.T) {
	for got, want := range map[string]string{
		PostgreSQL.String(): "PostgreSQL", MySQL.String(): "MySQL", SQLite.String(): "SQLite", Dialect(0).String(): "dialect(0)",
		TimeInstant.String(): "Instant", TimeUTC.String(): "UTC", TimeUnixSeconds.String(): "UnixSeconds", TimeUnixMillis.String(): "UnixMillis",
		TimeUnixMicros.String(): "UnixMicros", TimeType(9).String(): "time_type(9)",
	} {
		if got != want {
			t.Errorf("got %q want %q", got, want)
		}
	}
}

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
