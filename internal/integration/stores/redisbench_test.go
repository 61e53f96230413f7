package stores_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// BenchmarkRedis measures the steps with 2,000 records of 300 bytes in the 64 shards.
func BenchmarkRedis(b *testing.B) {
	_, _, store := newRedis(b)
	all := make([]int, breaker.NumShards)
	for shard := range all {
		all[shard] = shard
		var changes []breaker.Change
		for i := shard; i < 2000; i += breaker.NumShards {
			changes = append(changes, breaker.Change{ID: breaker.RecordID{byte(i >> 8), byte(i), 1}, Data: make([]byte, 300)})
		}
		if _, err := store.Apply(b.Context(), breaker.Batch{Shard: shard, Changes: changes}); err != nil {
			b.Fatal(err)
		}
	}
	probes := make([]breaker.ProbeRequest, 100)
	for i := range probes {
		probes[i] = breaker.ProbeRequest{ID: redisRecordOf(i), Since: time.Unix(1, 0), Every: time.Second, Budget: 5, Want: 1}
	}
	version := readRedis(b, store, 7).Version
	for _, c := range []struct {
		name string
		step func() error
	}{
		{"Versions", func() error { _, err := store.Versions(b.Context()); return err }},
		{"Load2000", func() error { _, err := store.Load(b.Context(), all); return err }},
		{"Load1Shard", func() error { _, err := store.Load(b.Context(), all[:1]); return err }},
		{"Apply", func() (err error) {
			version, err = store.Apply(b.Context(), breaker.Batch{
				Shard: 7, Term: 1, Expect: version, Changes: []breaker.Change{{ID: redisRecord(7), Data: make([]byte, 300)}},
			})
			return err
		}},
		{"Campaign", func() error {
			_, err := store.Campaign(b.Context(), breaker.Candidate{Owner: "me", TTL: time.Hour})
			return err
		}},
		{"Probe100", func() error { _, err := store.Probe(b.Context(), probes); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.step(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func redisRecordOf(i int) breaker.RecordID { return breaker.RecordID{byte(i >> 8), byte(i), 2} }
