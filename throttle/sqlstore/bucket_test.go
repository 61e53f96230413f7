package sqlstore

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestBucketStatementsAreComplete shows that nothing is left to replace, and that each parameter gets its argument.
func TestBucketStatementsAreComplete(t *testing.T) {
	ask := func(a bucket.Algorithm) takeRequest {
		l := bucket.Limit{Capacity: 5, Period: time.Second, Algorithm: a}.WithDefaults()
		return newTakeRequest([]byte("n"), bucketstore.Request{Limit: l, Min: 1, Max: 9})
	}
	for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
		s := newBucketSQL(d, bucketTable(d, ""))
		for _, query := range []string{s.table, s.level, s.take, s.takeFixed, s.swap, s.giveBack, s.reset, s.scan, d.bind(s.deleteFull)} {
			if query == "" || strings.ContainsAny(query, "{}") || d == PostgreSQL && strings.Contains(query, "?") {
				t.Errorf("%v: got %q", d, query)
			}
		}
		if d == MySQL {
			continue
		}
		mark := map[Dialect]string{PostgreSQL: "$", SQLite: "?"}[d]
		for a, query := range map[bucket.Algorithm]string{bucket.Continuous: s.take, bucket.Fixed: s.takeFixed} {
			if got, want := len(ask(a).args(d)), strings.Count(query, mark); got != want {
				t.Errorf("%v, %v: got %d arguments want %d", d, a, got, want)
			}
		}
	}
}

func TestBucketSchema(t *testing.T) {
	for d, want := range map[Dialect]string{
		PostgreSQL: `CREATE TABLE IF NOT EXISTS "ops"."x_bucket" (
	name bytea NOT NULL,
	id bytea NOT NULL,
	at_ns BIGINT NOT NULL,
	used BIGINT NOT NULL,
	interval_ns BIGINT NOT NULL,
	period_ns BIGINT NOT NULL,
	capacity BIGINT NOT NULL,
	until_ns BIGINT NOT NULL,
	other VARCHAR(120) NOT NULL DEFAULT '',
	taken_ns BIGINT NOT NULL,
	granted BIGINT NOT NULL,
	PRIMARY KEY (name, id)
) WITH (fillfactor = 50)`,
		MySQL: "CREATE TABLE IF NOT EXISTS `ops`.`x_bucket` (" + `
	name VARBINARY(255) NOT NULL,
	id VARBINARY(192) NOT NULL,
	at_ns BIGINT NOT NULL,
	used BIGINT NOT NULL,
	interval_ns BIGINT NOT NULL,
	period_ns BIGINT NOT NULL,
	capacity BIGINT NOT NULL,
	until_ns BIGINT NOT NULL,
	other VARCHAR(120) NOT NULL DEFAULT '',
	PRIMARY KEY (name, id)
) ENGINE=InnoDB`,
	} {
		got, err := BucketSchema(d, "ops.x_")
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%v: got %q %v want %s", d, got, err, want)
		}
	}
	if _, err := BucketSchema(PostgreSQL, "a.b.c"); err == nil {
		t.Error("got no error for a prefix with two dots")
	}
	if _, err := BucketSchema(9, ""); err == nil {
		t.Error("got no error for an unknown dialect")
	}
}

func TestBucketID(t *testing.T) {
	long := strings.Repeat("k", 191)
	for _, key := range []string{"", "k", "\x00\xff", long} {
		if got := bucketID(key); got == nil || string(got) != key {
			t.Errorf("%.20q: got %q want it as it is", key, got)
		}
	}
	one, other := bucketID(long+"k"), bucketID(long+"l")
	if len(one) != 192 || len(other) != 192 || bytes.Equal(one, other) || !bytes.HasPrefix(one, []byte(long[:160])) {
		t.Errorf("got %q and %q want two of 192 bytes that begin as the keys", one, other)
	}
	if bytes.Equal(bucketID(string(one)), one) {
		t.Error("a key that looks like a hashed one: got its row")
	}
}
