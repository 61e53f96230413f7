package sqlstore

import (
	"bytes"
	"strings"
	"testing"
)

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
