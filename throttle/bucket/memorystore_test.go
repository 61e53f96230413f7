package bucket

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// daily is a limit whose buckets are not full again while a test runs.
func daily() Limit { return Limit{Capacity: 10, Period: 24 * time.Hour} }

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryStore_MemoryOfLongKeys uses long keys, and keys that are part of a longer string,
// which must not be kept.
func TestMemoryStore_MemoryOfLongKeys(t *testing.T) {
	const keys, length, bound = 100, 64 << 10, 2 << 20
	for name, part := range map[string]int{"long": length, "parts": 16} {
		down := &moody{MemoryStore: NewMemoryStore(), err: errors.New("down")}
		for asked, l := range map[string]*Limiter{
			"the store":  Must(New(Config{Name: "x", Limit: daily()})),
			"LocalShare": Must(New(Config{Name: "x", Store: down, OnFailure: LocalShare, OneByOne: true, Limit: daily()})),
		} {
			before := heap()
			for i := range keys {
				if d, err := l.Decide(t.Context(), strings.Repeat(fmt.Sprintf("%08d", i), length/8)[:part]); err != nil || !d.Allowed {
					t.Fatalf("%s keys, %s: got %+v, %v want a token", name, asked, d, err)
				}
			}
			if got := int64(heap()) - int64(before); got > bound {
				t.Errorf("%s keys, %s: %d buckets take %d bytes want at most %d", name, asked, keys, got, bound)
			}
			runtime.KeepAlive(l)
		}
	}
}

// TestMemoryStore_BucketIDs checks that different keys have different IDs, also if a key is the ID
// of another.
func TestMemoryStore_BucketIDs(t *testing.T) {
	long := strings.Repeat("k", maxKey+1)
	seen := map[string]string{}
	for _, key := range []string{"", "k", long[1:], long, long + "k", bucketID(long), bucketID(bucketID(long)), bucketID(long)[keyPrefix:]} {
		id := bucketID(key)
		if other, taken := seen[id]; taken {
			t.Errorf("%q and %q: got the same bucket", key, other)
		}
		seen[id] = key
		if len(key) <= maxKey && id != key {
			t.Errorf("%q: got %q want it as it is", key, id)
		}
		if len(id) > maxKey+1 {
			t.Errorf("%q: got %d bytes want at most %d", key, len(id), maxKey+1)
		}
	}
}
