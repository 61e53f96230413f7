package stores_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// sqlServer is a database server that can be frozen, killed and restarted, and keeps committed data.
type sqlServer interface {
	Freeze(t testing.TB)
	Thaw(t testing.TB)
	Kill(t testing.TB)
	Restart(t testing.TB)
}

// survivesFaults freezes, kills and restarts the server while stores use it.
func (e *engine) survivesFaults(t *testing.T, server sqlServer) {
	warm := e.store(t, e.open(t, e.dsn(t)), sqlstore.BreakerConfig{Name: "warm", Prefix: "fault_"})
	breakerSteps(warm).wantWorks(t) // so that it has connections
	before, err := warm.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cold := throttle.Must(sqlstore.NewBreaker(e.open(t, e.dsn(t)), e.dialect, sqlstore.BreakerConfig{Name: "cold", Prefix: "fault_"}))
	server.Freeze(t)
	breakerSteps(warm).wantFails(t, "frozen, with connections")
	breakerSteps(cold).wantFails(t, "frozen, without connections")
	server.Thaw(t)
	breakerSteps(warm).wantWorks(t)
	breakerSteps(cold).wantWorks(t)

	server.Kill(t)
	breakerSteps(warm).wantFails(t, "killed")
	server.Restart(t)
	breakerSteps(warm).wantWorks(t)
	after, err := warm.Versions(t.Context())
	if err != nil || after.Shards[5].Epoch != before.Shards[5].Epoch {
		t.Errorf("after a restart: got %v %v want the epoch of %v", after.Shards[5], err, before.Shards[5])
	}
}

// readsOnly checks what works without permission to write.
func (e *engine) readsOnly(t *testing.T, db, readOnly *sql.DB, c sqlstore.BreakerConfig) {
	t.Helper()
	writer, reader := e.store(t, db, c), e.store(t, readOnly, c) // which finds the tables, and creates nothing
	change := store.Batch{Shard: 1, Changes: []store.Change{{Data: []byte("x")}}}
	version, err := writer.Apply(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Versions(t.Context()); err != nil || v.Shards[1] != version {
		t.Errorf("versions: got %v %v want %v", v.Shards[1], err, version)
	}
	if loaded, err := reader.Load(t.Context(), []int{1}); err != nil || len(loaded[0].Records) != 1 {
		t.Errorf("load: got %v %v want a record", loaded, err)
	}
	change.Expect = version
	if _, err := reader.Apply(t.Context(), change); err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFenced) {
		t.Errorf("apply: got %v want an error", err)
	}
	if _, err := reader.Campaign(t.Context(), store.Candidate{Owner: "me", TTL: time.Minute}); err == nil {
		t.Error("campaign: got no error")
	}
	if _, err := reader.Probe(t.Context(), []store.ProbeRequest{{Since: time.Unix(0, 0), Every: time.Hour, Budget: 1, Want: 1}}); err == nil {
		t.Error("probe: got no error")
	}
	if v, err := writer.Versions(t.Context()); err != nil || v.Shards[1] != version {
		t.Errorf("afterwards: got %v %v want %v", v.Shards[1], err, version)
	}
}

// sharesClock writes and reads with two sessions that have different settings.
func (e *engine) sharesClock(t *testing.T, one, other *sql.DB, c sqlstore.BreakerConfig) {
	t.Helper()
	here, there := e.store(t, one, c), e.store(t, other, c)
	first, err := here.Campaign(t.Context(), store.Candidate{Owner: "here", TTL: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	got, err := there.Campaign(t.Context(), store.Candidate{Owner: "there", TTL: time.Minute})
	if err != nil || got.Owner != "here" || got.Term != first.Term || got.Remaining > 10*time.Minute || got.Remaining <= 0 {
		t.Errorf("got %+v %v want %+v, a little later", got, err, first)
	}
	begun, err := here.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := there.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := now.Now.Sub(begun.Now); d < 0 || d > 10*time.Minute {
		t.Errorf("the sessions are %v apart", d)
	}
	if d := time.Since(now.Now).Abs(); d > 10*time.Minute { // the server is on this machine
		t.Errorf("the database says %v, which is %v from now", now.Now, d)
	}
	for i, b := range []store.Store{here, there, here} {
		request := store.ProbeRequest{Since: now.Now.Add(-time.Minute), Every: 24 * time.Hour, Budget: 5, Want: 2}
		grants, err := b.Probe(t.Context(), []store.ProbeRequest{request})
		if want := []int{2, 2, 1}[i]; err != nil || grants[0].Granted != want {
			t.Errorf("got %v %v want %d probes", grants, err, want)
		}
	}
}
