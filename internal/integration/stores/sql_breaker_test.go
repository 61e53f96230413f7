package stores_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// cases runs the tests of every database, besides the conformance suite.
func (e *engine) cases(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"twenty processes create the schema at once", e.createsAtOnce},
		{"a missing table is an error with the command to run", e.missesTables},
		{"a lease from before the clock was set back ends", e.endsLeaseOfTheFuture},
		{"records without their shard are dropped", e.dropsRecordsOfALostShard},
		{"foreign rows are ignored", e.leavesOutWhatIsNotOurs},
		{"old probes are deleted", e.deletesOldProbes},
		{"a budget that begins later than now", e.countsProbesOfTheFuture},
		{"deliveries", e.polls},
	} {
		t.Run(c.name, c.run)
	}
}

func (e *engine) endsLeaseOfTheFuture(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "future", Prefix: "future_"})
	first, err := b.Campaign(t.Context(), store.Candidate{Owner: "first", TTL: time.Hour})
	if err != nil || first.Owner != "first" {
		t.Fatalf("got %v %v want the lease of the first", first, err)
	}
	other := store.Candidate{Owner: "other", TTL: time.Hour}
	if got, err := b.Campaign(t.Context(), other); err != nil || got.Owner != "first" || got.Term != first.Term {
		t.Fatalf("got %v %v want that of the first", got, err)
	}
	// For the database it is now a day earlier than when it granted the lease.
	e.exec(t, db, "UPDATE future_breaker_lease SET until_us = until_us + 86400000000, term = term + 86400000000")
	got, err := b.Campaign(t.Context(), other)
	if err != nil || got.Owner != "other" || got.Term != first.Term+86400000001 || got.Remaining > time.Hour {
		t.Errorf("got %v %v want a lease of an hour for the other, and the term after %d", got, err, first.Term+86400000000)
	}
}

func (e *engine) dropsRecordsOfALostShard(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "lost", Prefix: "lost_"})
	write := func(expect store.Version, id byte) (store.Version, error) {
		return b.Apply(t.Context(), store.Batch{Shard: 7, Expect: expect, Changes: []store.Change{{ID: store.RecordID{id}, Data: []byte{id}}}})
	}
	first, err := write(store.Version{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.exec(t, db, "DELETE FROM lost_breaker_shard")
	program.Eventually(t, "SQLite's clock, which has milliseconds, moves on", func() string {
		if v, err := b.Versions(t.Context()); err != nil || v.Now.UnixMicro() <= int64(first.Epoch) {
			return fmt.Sprint(v.Now, err)
		}
		return ""
	})
	if v, err := b.Versions(t.Context()); err != nil || v.Shards[7] != (store.Version{}) {
		t.Errorf("lost: got version %v %v want none", v.Shards[7], err)
	}
	if _, err := write(first, 2); !errors.Is(err, store.ErrConflict) {
		t.Errorf("lost: got %v want a conflict", err)
	}
	again, err := write(store.Version{}, 2)
	if err != nil || again.Epoch <= first.Epoch || again.Number != 1 {
		t.Errorf("begun again: got %v %v want an epoch after %v", again, err, first)
	}
	loaded, err := b.Load(t.Context(), []int{7})
	if err != nil || len(loaded[0].Records) != 1 || loaded[0].Records[0].ID[0] != 2 || loaded[0].Version != again {
		t.Errorf("got %v %v want the second record only", loaded, err)
	}
}

func (e *engine) leavesOutWhatIsNotOurs(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "n", Prefix: "foreign_"})
	if _, err := b.Apply(t.Context(), store.Batch{Changes: []store.Change{{Data: []byte("good")}}}); err != nil {
		t.Fatal(err)
	}
	// n is 0x6e. A shard that there is not, and, where the column lets it, a record whose name is too short.
	literal := map[sqlstore.Dialect]string{sqlstore.PostgreSQL: `'\x6e'`}[e.dialect]
	if literal == "" {
		literal = "x'6e'"
	}
	for _, statement := range []string{
		"INSERT INTO foreign_breaker_shard (name, shard, epoch, number, term) VALUES (" + literal + ", 64, 1, 1, 1), (" + literal + ", -1, 1, 1, 1)",
		"INSERT INTO foreign_breaker_record (name, shard, id, data) VALUES (" + literal + ", 0, " + literal + ", " + literal + ")",
	} {
		e.exec(t, db, statement)
	}
	if v, err := b.Versions(t.Context()); err != nil || v.Shards[0].Number != 1 {
		t.Errorf("got %v %v want one write", v.Shards[0], err)
	}
	loaded, err := b.Load(t.Context(), []int{0})
	if e.dialect == sqlstore.MySQL {
		if err != nil || len(loaded[0].Records) != 2 { // its column makes every name as long as it must be
			t.Errorf("got %v %v want two records", loaded, err)
		}
	} else if err != nil || len(loaded[0].Records) != 1 || string(loaded[0].Records[0].Data) != "good" {
		t.Errorf("got %v %v want the good record", loaded, err)
	}
}

func (e *engine) deletesOldProbes(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "sweep", Prefix: "sweep_"})
	requests := []store.ProbeRequest{
		{Generation: 1, Since: time.Now().Add(-time.Hour), Every: time.Hour * 24, Budget: 5, Want: 3},
		{Generation: 2, Since: time.Now().Add(-time.Hour), Every: time.Hour * 24, Budget: 5, Want: 3},
	}
	if _, err := b.Probe(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	e.exec(t, db, "UPDATE sweep_breaker_probe SET ends_us = 1 WHERE generation = 1")
	if _, err := b.Campaign(t.Context(), store.Candidate{Owner: "leader", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	var left, generation int
	must(t, db.QueryRow("SELECT COUNT(*), MAX(generation) FROM sweep_breaker_probe").Scan(&left, &generation))
	if left != 1 || generation != 2 {
		t.Errorf("got %d rows, the last of generation %d; want that of generation 2 only", left, generation)
	}
	many := make([]store.ProbeRequest, 1100) // of 600 circuits; more than one statement deletes
	for i := range many {
		many[i] = store.ProbeRequest{ID: store.RecordID{byte(i % 600), byte(i % 600 >> 8)}, Generation: uint64(3 + i), Since: time.Now(), Every: time.Hour, Budget: 5, Want: 1}
	}
	if _, err := b.Probe(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	e.exec(t, db, "UPDATE sweep_breaker_probe SET ends_us = 1 WHERE generation > 2")
	later := e.store(t, db, sqlstore.BreakerConfig{Name: "sweep", Prefix: "sweep_"}) // which has not swept yet
	for n := 0; n < 20 && left > 0; n++ {                                            // a slow database needs several
		if _, err := later.Campaign(t.Context(), store.Candidate{Owner: "leader", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("SELECT COUNT(*) FROM sweep_breaker_probe WHERE generation > 2").Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	if left > 0 {
		t.Errorf("got %d old rows left, want none", left)
	}
}

// countsProbesOfTheFuture asks for probes of a budget that has not begun yet. A day from now, it is the current one: another statement has
// read the clock before, but runs later. Two days from now, it ends: the clock was set back after it was used.
func (e *engine) countsProbesOfTheFuture(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "ahead", Prefix: "ahead_"})
	for i, c := range []struct {
		change string
		want   []int
	}{
		{"begins_us = begins_us + 86400000000, used = 4", []int{1, 0}},
		{"begins_us = begins_us + 172800000000, ends_us = ends_us + 172800000000, used = 5", []int{3, 2, 0}},
	} {
		request := store.ProbeRequest{Generation: uint64(i), Since: time.Now().Add(-time.Hour), Every: 24 * time.Hour, Budget: 5, Want: 3}
		for n, want := range append([]int{3}, c.want...) {
			got, err := b.Probe(t.Context(), []store.ProbeRequest{request})
			if err != nil || got[0].Granted != want {
				t.Errorf("%s: got %v %v want %d", c.change, got, err, want)
			}
			if n == 0 {
				e.exec(t, db, fmt.Sprintf("UPDATE ahead_breaker_probe SET %s WHERE generation = %d", c.change, i))
			}
		}
	}
	var begins, ends int64
	must(t, db.QueryRow("SELECT begins_us, ends_us FROM ahead_breaker_probe WHERE generation = 1").Scan(&begins, &ends))
	if day := 24 * time.Hour; begins > time.Now().UnixMicro() || ends-begins != day.Microseconds() {
		t.Errorf("got a period from %d to %d want that of now", begins, ends)
	}
}

// createsAtOnce creates the tables of both stores by twenty processes.
func (e *engine) createsAtOnce(t *testing.T) {
	const processes = 20
	dsn := e.dsn(t)
	prefix := fmt.Sprintf("at_once_%d_", e.last.Add(1))
	var all sync.WaitGroup
	for range processes {
		db := e.open(t, dsn)
		b := throttle.Must(sqlstore.NewBreaker(db, e.dialect, sqlstore.BreakerConfig{Name: "b", Prefix: prefix}))
		k := throttle.Must(sqlstore.NewBucket(db, e.dialect, sqlstore.BucketConfig{Name: "b", Prefix: prefix}))
		all.Go(func() {
			for range 2 {
				if err := errors.Join(b.CreateSchema(t.Context()), k.CreateSchema(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	// The statements themselves can be run again, too.
	statements := throttle.Must(sqlstore.BreakerSchema(e.dialect, prefix))
	db := e.open(t, dsn)
	for _, s := range statements {
		e.exec(t, db, s)
	}
}

func (e *engine) missesTables(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := throttle.Must(sqlstore.NewBreaker(db, e.dialect, sqlstore.BreakerConfig{Name: "b", Prefix: "nobody_made_"}))
	k := throttle.Must(sqlstore.NewBucket(db, e.dialect, sqlstore.BucketConfig{Name: "b", Prefix: "nobody_made_"}))
	all := bucketSteps(k)
	all["sweep"] = func(ctx context.Context) error { _, err := k.Sweep(ctx); return err }
	for _, steps := range []steps{breakerSteps(b), all} {
		for step, err := range steps.within(t, program.Timeout) {
			if !errors.Is(err, sqlstore.ErrNoTables) || !strings.Contains(err.Error(), "nobody_made_b") {
				t.Errorf("%s: got %v want ErrNoTables and the table's name", step, err)
			}
		}
	}
}
