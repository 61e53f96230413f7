package sqlstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestTakeRequest_args shows that each parameter gets its argument.
func TestTakeRequest_args(t *testing.T) {
	for d, mark := range map[Dialect]string{PostgreSQL: "$", SQLite: "?"} {
		s := newBucketSQL(d, "")
		for a, query := range map[bucket.Algorithm]string{bucket.Continuous: s.take, bucket.Fixed: s.takeFixed} {
			l := bucket.Limit{Capacity: 5, Period: time.Second, Algorithm: a}.WithDefaults()
			r := newTakeRequest([]byte("n"), bucketstore.Request{Limit: l, Min: 1, Max: 9})
			equals(t, len(r.args(d)), strings.Count(query, mark), "%v, %v: arguments", d, a)
		}
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

func TestProcedureBucketRefuses(t *testing.T) {
	db := brokenDB(t, errBroken)
	for _, id := range []string{"", strings.Repeat("i", 37)} {
		if b, err := NewProcedureBucket(db, id); b != nil || err == nil || !strings.Contains(err.Error(), "want 1 to 36 bytes") {
			t.Errorf("%q: got %v %v", id, b, err)
		}
	}
	if _, err := NewProcedureBucket(nil, "i"); err == nil {
		t.Error("no database: got no error")
	}
	b := throttle.Must(NewProcedureBucket(db, strings.Repeat("i", 36)))
	if err := b.RequestToken(t.Context()); !errors.Is(err, errBroken) || errors.Is(err, bucket.ErrDenied) {
		t.Errorf("got %v want the database's error, which is no denial", err)
	}
}
