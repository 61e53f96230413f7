package breaker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestKeysThatReadAlikeAreApart(t *testing.T) {
	keys := []breaker.Key{{ID: strings.Repeat("x", 1<<20)}, {ID: strings.Repeat("x", 1<<20+1)}}
	parts := []string{
		"", "a", "b", "ab", ":", "a:", ":b", "a:b", "b:c", "c", "\x01a", "a\x00", "\xff", "\xfe", "\xff\xfe", "\ufffd\ufffd", "https",
		"https://x:8443/h", strings.Repeat("x", 200), strings.Repeat("x", 201),
	}
	for _, tenant := range parts {
		for _, id := range parts {
			keys = append(keys, breaker.Key{Tenant: tenant, ID: id})
		}
	}
	ids, words := map[store.RecordID]breaker.Key{}, map[string]breaker.Key{}
	for _, k := range keys {
		id := k.RecordID()
		if other, ok := ids[id]; ok {
			t.Errorf("%.50s and %.50s have the same record", k, other)
		}
		ids[id] = k
		if other, ok := words[k.String()]; ok {
			t.Errorf("%q and %q read the same: %.50s", k, other, k)
		}
		words[k.String()] = k
		if s := id.Shard(); s < 0 || s >= store.NumShards {
			t.Errorf("shard of %.50s is %d", k, s)
		}
	}
}

// TestRecordIDsStay: stores hold what an earlier version wrote.
func TestRecordIDsStay(t *testing.T) {
	id := breaker.Key{Tenant: "acme", ID: "https://acme.example/hooks"}.RecordID()
	const want = "0178b11a7e9d8e17 in 56"
	equals(t, fmt.Sprintf("%x in %d", id[:8], id.Shard()), want, "the records of every store would be lost")
}
