package redisstore

import (
	"strings"
	"testing"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// tag is what a cluster looks at: from the first opening brace to the first closing one after it.
func tag(key string) string {
	_, after, _ := strings.Cut(key, "{")
	inside, _, _ := strings.Cut(after, "}")
	return inside
}

func TestKeysAreApartAndTagged(t *testing.T) {
	names := []string{"b", "{b}", "b}", "{", "}", "b/0", "b/lead", "b%2F0", "b 0", "b+0", "\x00", "\xff", "b:shard", "b0"}
	seen := map[string]string{}
	for _, name := range names {
		k := newBreakerKeys("p", name)
		for i, key := range append(k.shards[:], k.lease, k.probes, k.change) {
			if other, taken := seen[key]; taken {
				t.Errorf("%q and %q: both have %s", name, other, key)
			}
			seen[key] = name
			if !strings.HasPrefix(key, "p:breaker:{") || tag(key) == "" || strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
				t.Errorf("%q: key %d is %s: want one tag in it", name, i, key)
			}
		}
		if tag(k.lease) != tag(k.probes) || tag(k.lease) == tag(k.shards[0]) || tag(k.shards[0]) == tag(k.shards[1]) {
			t.Errorf("%q: want lease and probes together, and shards apart", name)
		}
	}
}

func TestKeysAsDocumented(t *testing.T) {
	k := newBreakerKeys("spillway", "webhooks")
	for got, want := range map[string]string{
		k.shards[63]:                        "spillway:breaker:{webhooks/63}:shard",
		k.lease:                             "spillway:breaker:{webhooks/lead}:lease",
		k.change:                            "spillway:breaker:{webhooks}:change",
		k.probe(breakerstore.RecordID{}, 7): "spillway:breaker:{webhooks/lead}:probes:" + strings.Repeat("00", 32) + ":7",
	} {
		if got != want {
			t.Errorf("got %s want %s", got, want)
		}
	}
}
