package stores_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// BenchmarkSQL measures each step against databases that do not wait for disks: what a fleet costs them, but for the commits.
func BenchmarkSQL(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		server := program.Postgres(b)
		newEngine(sqlstore.PostgreSQL, "pgx", func(testing.TB) string { return server.DSN("") }).bench(b)
	})
	b.Run("mariadb", func(b *testing.B) {
		server := program.MariaDB(b)
		newEngine(sqlstore.MySQL, "mysql", func(testing.TB) string { return server.DSN("interpolateParams=true") }).bench(b)
	})
	b.Run("sqlite", func(b *testing.B) { newSQLite().bench(b) })
}

func (e *engine) bench(b *testing.B) {
	ctx := b.Context()
	db := e.open(b, e.dsn(b))
	store := e.store(b, db, sqlstore.BreakerConfig{Name: "bench"})
	const records = 2000
	all := make([]int, breaker.NumShards)
	data := fmt.Appendf(nil, "%0400d", 1) // as large as a record
	for shard := range all {
		all[shard] = shard
		var changes []breaker.Change
		for i := range records / breaker.NumShards {
			id := breaker.RecordID{2: byte(i)}
			binary.BigEndian.PutUint16(id[:], uint16(shard))
			changes = append(changes, breaker.Change{ID: id, Data: data})
		}
		if _, err := store.Apply(ctx, breaker.Batch{Shard: shard, Changes: changes}); err != nil {
			b.Fatal(err)
		}
	}
	step := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	step("versions", func() error { _, err := store.Versions(ctx); return err })
	step("load one shard of 31", func() error { _, err := store.Load(ctx, all[:1]); return err })
	step("load 64 shards of 31", func() error { _, err := store.Load(ctx, all); return err })
	versions, err := store.Versions(ctx)
	if err != nil {
		b.Fatal(err)
	}
	version := versions.Shards[0]
	step("apply one change", func() (err error) {
		version, err = store.Apply(ctx, breaker.Batch{Expect: version, Changes: []breaker.Change{{Data: data}}})
		return err
	})
	step("campaign of the leader", func() error {
		_, err := store.Campaign(ctx, breaker.Candidate{Owner: "me", TTL: time.Hour})
		return err
	})
	step("campaign of another", func() error {
		_, err := store.Campaign(ctx, breaker.Candidate{Owner: "you", TTL: time.Hour})
		return err
	})
	requests := make([]breaker.ProbeRequest, 100)
	for i := range requests {
		requests[i] = breaker.ProbeRequest{ID: breaker.RecordID{byte(i)}, Since: time.Unix(0, 0), Every: time.Second, Budget: 5, Want: 1}
	}
	step("probe for one", func() error { _, err := store.Probe(ctx, requests[:1]); return err })
	step("probe for 100", func() error { _, err := store.Probe(ctx, requests); return err })
	e.benchPoll(b)
}

// benchPoll polls a table of a hundred thousand deliveries.
func (e *engine) benchPoll(b *testing.B) {
	db := e.open(b, e.dsn(b))
	e.deliveries(b, db, "bench_deliveries", time.Now(), someDeliveries(100_000))
	poller := e.poller(b, db, pollerConfig("bench_deliveries", sqlstore.UnixMicros))
	since := map[breaker.Key]time.Duration{}
	for i := range 3000 {
		since[breaker.Key{Tenant: "two", ID: fmt.Sprintf("https://example.com:8443/hooks/%d", i)}] = time.Hour
	}
	for _, c := range []struct {
		name string
		q    breaker.PollQuery
	}{
		{"poll 3,333 rows", breaker.PollQuery{Window: 45 * time.Minute, MinFailures: 10}},
		{"poll 100,000 rows", breaker.PollQuery{Window: 1000 * time.Hour, MinFailures: 10}},
		{"poll 100,000 rows with 3,000 spans", breaker.PollQuery{Window: 1000 * time.Hour, MinFailures: 10, Since: since}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := poller.Poll(b.Context(), c.q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
