package sqlstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

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
