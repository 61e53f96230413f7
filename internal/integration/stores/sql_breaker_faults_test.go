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
