package breaker

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestTheNotifierDoesNotSpin ends the context of a leader that has something to notify: until it has resigned it still leads.
func TestTheNotifierDoesNotSpin(t *testing.T) {
	m, err := New(Config{Name: "deliveries", Notify: func(context.Context, Event) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	k := Key{ID: "a"}
	id := k.RecordID()
	m.shards[id.Shard()].Store(&shard{records: map[store.RecordID]*record{id: {Status: Status{Key: k}, pending: []Event{{Key: k, To: Open}}}}})
	m.leading.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rescue := time.AfterFunc(10*time.Second, func() { m.leading.Store(false) })
	m.notifyLoop(ctx)
	if !rescue.Stop() {
		t.Error("went round and round after the end of its context, want it to return")
	}
}
