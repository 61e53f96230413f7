package redisstore

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestBucketKeysAsDocumented(t *testing.T) {
	b := newBucket(t, says(nil))
	long := strings.Repeat("k", 129)
	for key, want := range map[string]string{
		"":         "spillway:bucket:b:",
		"tenant":   "spillway:bucket:b:tenant",
		"a:{b}/#":  "spillway:bucket:b:a%3A%7Bb%7D%2F%23",
		"\x00\xff": "spillway:bucket:b:%00%FF",
		long[1:]:   "spillway:bucket:b:" + long[1:],
		long:       fmt.Sprintf("spillway:bucket:b:#%x", sha256.Sum256([]byte(long))),
	} {
		if got := b.key(key); got != want {
			t.Errorf("%q: got %s want %s", key, got, want)
		}
	}
}

// FuzzBucketKey wants keys that differ to stay apart, also from those of other names, and none to choose its place in a cluster.
func FuzzBucketKey(f *testing.F) {
	f.Add("a", "b:c", "a:b", "c")
	f.Add("a", "", "a:", "")
	f.Add("a", "{x}", "{a", "}")
	f.Add("a", strings.Repeat("k", 200), "a", strings.Repeat("k", 129))
	f.Fuzz(func(t *testing.T, name1, key1, name2, key2 string) {
		one, two := &Bucket{prefix: bucketPrefix("p", name1)}, &Bucket{prefix: bucketPrefix("p", name2)}
		got1, got2 := one.key(key1), two.key(key2)
		if same := name1 == name2 && key1 == key2; (got1 == got2) != same {
			t.Errorf("%q, %q and %q, %q: got %s and %s", name1, key1, name2, key2, got1, got2)
		}
		if strings.ContainsAny(got1, "{}") {
			t.Errorf("%q, %q: got %s want no braces", name1, key1, got1)
		}
	})
}
