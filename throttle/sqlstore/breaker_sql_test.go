package sqlstore

import (
	"strings"
	"testing"
)

func TestBreakerSchema(t *testing.T) {
	for d, want := range map[Dialect]string{
		PostgreSQL: `CREATE TABLE IF NOT EXISTS "ops"."x_breaker_record" (
	name bytea NOT NULL,
	shard INTEGER NOT NULL,
	id bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (name, shard, id)
)`,
		MySQL: "CREATE TABLE IF NOT EXISTS `ops`.`x_breaker_record` (" + `
	name VARBINARY(255) NOT NULL,
	shard INTEGER NOT NULL,
	id BINARY(32) NOT NULL,
	data LONGBLOB NOT NULL,
	PRIMARY KEY (name, shard, id)
) ENGINE=InnoDB`,
		SQLite: `CREATE TABLE IF NOT EXISTS "ops"."x_breaker_record" (
	name BLOB NOT NULL,
	shard INTEGER NOT NULL,
	id BLOB NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (name, shard, id)
)`,
	} {
		got, err := BreakerSchema(d, "ops.x_")
		if err != nil || len(got) != 4 || got[2] != want {
			t.Errorf("%v: got %q %v want four statements, of which one is %s", d, got, err, want)
		}
		for _, s := range got {
			if !strings.HasPrefix(s, "CREATE TABLE IF NOT EXISTS ") || strings.ContainsAny(s, "{}?") {
				t.Errorf("%v: got %s", d, s)
			}
		}
	}
	if _, err := BreakerSchema(PostgreSQL, "a.b.c"); err == nil {
		t.Error("got no error for a prefix with two dots")
	}
	if _, err := BreakerSchema(9, ""); err == nil {
		t.Error("got no error for an unknown dialect")
	}
}

// TestStatementsAreComplete shows that nothing is left to replace, and that PostgreSQL gets its own parameters.
func TestStatementsAreComplete(t *testing.T) {
	for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
		s := newBreakerSQL(newBreakerTables(d, ""), d == PostgreSQL)
		for _, query := range []string{
			s.tables, s.lease, s.insertLease, s.campaign, s.resign, s.versions, s.advance, s.raiseTerm, s.shard, s.insertShard, s.clearShard, s.now, s.sweep,
			d.bind(s.load), d.bind(s.deleteRecords), d.bind(s.putRecords), s.putRecordsEnd, d.bind(s.probe), s.probeEnd, d.bind(s.used),
		} {
			if query == "" || strings.ContainsAny(query, "{}") || d == PostgreSQL && strings.Contains(query, "?") {
				t.Errorf("%v: got %q", d, query)
			}
		}
	}
}
