package redisstore

import (
	"strings"
	"testing"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

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
