package bucket

import (
	"strconv"
	"testing"
)

// TestMemoryShard_EqualHashes checks that keys of equal hashes have different buckets, and that few
// buckets are kept although they are full.
func TestMemoryShard_EqualHashes(t *testing.T) {
	var p memoryShard
	p.rebuild(nil)
	added := map[string]*memoryBucket{}
	for i := range minSweep {
		key := strconv.Itoa(i)
		added[key] = p.add(1, key, 1)
	}
	for key, b := range added {
		if got := p.find(1, key); got != b || got.key != key {
			t.Errorf("%s: got %+v want its own bucket", key, got)
		}
	}
	if got := p.find(1, "other"); got != nil || p.size != minSweep {
		t.Errorf("got %d buckets and %+v of another key, want %d and none", p.size, got, minSweep)
	}
}
