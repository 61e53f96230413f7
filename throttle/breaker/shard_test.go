package breaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestRecords_format loses a record that has every field, so that it is written back. Another version
// of the program must be able to read it.
func TestRecords_format(t *testing.T) {
	const whole = `{"v":1,"tenant":"t","id":"a","state":"disabled","reason":"by_hand","forced":true,"trips":3,"generation":7,"changed_at":1,
		"open_until":2,"count_since":3,"called_at":4,"failures":0.5,"successes":1e300,"dry_run":true,"pending":[{"from":"half_open",
		"to":"open","reason":"failing","trips":2,"generation":6,"at":5,"failures":6,"successes":7,"dry_run":true}]}`
	store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{Tenant: "t", ID: "a"}
	put(t, store, k, whole)
	m := agent(t, breaker.Config{Store: store})
	must(t, m.Refresh(t.Context()))
	store.flush()
	must(t, m.Refresh(t.Context()))
	var want, got map[string]any
	must(t, json.Unmarshal([]byte(whole), &want), json.Unmarshal(stored(t, store, k)[0].Data, &got))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestCorruptRecordsAreRemoved puts records into the store that cannot be read. The agent reports
// them, treats them as absent, and removes those that no later version can read.
func TestCorruptRecordsAreRemoved(t *testing.T) {
	whole := `{"v":1,"id":"a","state":"disabled","trips":3,"generation":9,"reason":"by_hand","changed_at":1,"failures":0,"successes":0}`
	for name, tt := range map[string]struct {
		data          string
		state         breaker.State
		corrupt, left int
	}{
		"whole":         {whole, breaker.Disabled, 0, 1},
		"cut":           {whole[:40], breaker.Closed, 1, 0},
		"newer format":  {strings.Replace(whole, `"v":1`, `"v":2`, 1), breaker.Closed, 1, 1},
		"another key's": {strings.Replace(whole, `"id":"a"`, `"id":"b"`, 1), breaker.Closed, 1, 0},
		"empty":         {"", breaker.Closed, 1, 0},
		"null":          {"null", breaker.Closed, 1, 0},
		"a list":        {"[]", breaker.Closed, 1, 0},
		"format 0":      {`{"v":0,"id":"a","state":"open"}`, breaker.Closed, 1, 0},
		"no state":      {`{"v":1,"id":"a"}`, breaker.Closed, 1, 0},
		"other state":   {`{"v":1,"id":"a","state":"ajar"}`, breaker.Closed, 1, 0},
		"other reason":  {`{"v":1,"id":"a","state":"open","reason":"whim"}`, breaker.Closed, 1, 0},
		"other event":   {`{"v":1,"id":"a","state":"open","pending":[{"from":"open","to":"ajar","reason":"failing"}]}`, breaker.Closed, 1, 0},
		"trips below 0": {`{"v":1,"id":"a","state":"open","trips":-1}`, breaker.Closed, 1, 0},
		"endless trips": {`{"v":1,"id":"a","state":"open","trips":1e99}`, breaker.Closed, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			put(t, store, k, tt.data)
			m := agent(t, breaker.Config{Store: store})
			must(t, m.Refresh(t.Context()))
			if n, s := m.Stats().Errors.Of(breaker.RecordCorrupt), m.Status(k).State; n != uint64(tt.corrupt) || s != tt.state {
				t.Errorf("got %d corrupt records reported and state %v, want %d and %v", n, s, tt.corrupt, tt.state)
			}
			if n := len(stored(t, store, k)); n != tt.left {
				t.Errorf("got %d records left, want %d", n, tt.left)
			}
			if tt.state != breaker.Closed {
				return
			}
			fails(t, m, k, 10)
			sample(t, m)
			wants(t, m.CanExecute(t.Context(), k), breaker.ErrOpen, "the circuit lives on")
		})
	}
}

// TestAConflictIsThoughtOver has another agent change a circuit just before this agent writes its
// own change. The second change is made to what the first one left.
func TestAConflictIsThoughtOver(t *testing.T) {
	store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
	m, other := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	must(t, m.Disable(ctx, k))
	store.before = only(func(context.Context) error {
		store.before = nil
		return other.Enable(ctx, k)
	}, "Apply")
	must(t, m.ForceOpen(ctx, k), other.Refresh(ctx))
	for _, m := range []*breaker.Manager{m, other} {
		if s := m.Status(k); s.State != breaker.Open || !s.Forced || s.Generation != 3 {
			t.Errorf("got %+v, want it forced open by the third change", s)
		}
	}
	if n := m.Stats().Errors.Of(breaker.WriteConflicted); n != 1 {
		t.Errorf("got %d conflicts reported, want 1", n)
	}
}

// TestALeaderThatWasFollowedIsFenced has a poll that lasts until another agent leads. What the
// first agent decides by it is not written.
func TestALeaderThatWasFollowedIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
		next := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		m := agent(t, breaker.Config{
			Store: store, PollTimeout: time.Minute,
			Poll: polls(func() results {
				running(t, next)
				time.Sleep(20 * time.Second)
				return results{k: {Failures: 20}}
			}),
		})
		err := m.Sample(t.Context())
		if n := m.Stats().Errors.Of(breaker.WriteFenced); !errors.Is(err, breakerstore.ErrFenced) || n != 1 {
			t.Errorf("got %v and %d fenced writes reported, want ErrFenced and 1", err, n)
		}
		if s := next.Status(k).State; !next.Stats().Leads || s != breaker.Closed {
			t.Errorf("got leads %v and state %v of the next leader, want true and closed", next.Stats().Leads, s)
		}
	})
}

// TestAnOldLeaderCanWriteNothing writes with the term of an earlier leader, to every shard, also those that no manager has
// ever written: what is still on its way when the lease changes must not arrive.
func TestAnOldLeaderCanWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ctx := breaker.NewMemoryStore(), t.Context()
		old, err := store.Campaign(ctx, breakerstore.Candidate{Owner: "old", TTL: time.Second})
		must(t, err)
		time.Sleep(2 * time.Second)
		running(t, agent(t, breaker.Config{Store: store}))
		time.Sleep(time.Second)
		v, err := store.Versions(ctx)
		must(t, err)
		for i, version := range v.Shards {
			if _, err := store.Apply(ctx, breakerstore.Batch{Shard: i, Term: old.Term, Expect: version}); !errors.Is(err, breakerstore.ErrFenced) {
				t.Errorf("shard %d: got %v, want ErrFenced", i, err)
			}
		}
	})
}
