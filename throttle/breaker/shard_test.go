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
// them in one short line, treats them as absent, and removes those that no later version can read.
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
		"a line break":  {`{"v":1,"id":"a","state":"\nlevel=ERROR"}`, breaker.Closed, 1, 0},
		"very long":     {strings.Repeat("[", 1<<20), breaker.Closed, 1, 0},
		"endless trips": {`{"v":1,"id":"a","state":"open","trips":1e99}`, breaker.Closed, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			put(t, store, k, tt.data)
			m := agent(t, breaker.Config{Store: store, Hooks: breaker.Hooks{Failed: func(e breaker.FailureEvent) {
				if text := e.Err.Error(); len(text) > 500 || strings.Contains(text, "\n") {
					t.Errorf("got %.1000q, want one short line", text)
				}
			}}})
			must(t, m.Refresh(t.Context()))
			if n, s := m.Stats().Errors.Of(breaker.RecordCorrupt), m.Status(k).State; n != uint64(tt.corrupt) || s != tt.state {
				t.Errorf("got %d corrupt records reported and state %v, want %d and %v", n, s, tt.corrupt, tt.state)
			}
			equals(t, len(stored(t, store, k)), tt.left, "records left")
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
	equals(t, m.Stats().Errors.Of(breaker.WriteConflicted), 1, "conflicts reported")
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
			_, err := store.Apply(ctx, breakerstore.Batch{Shard: i, Term: old.Term, Expect: version})
			wants(t, err, breakerstore.ErrFenced, "shard %d", i)
		}
	})
}

// TestLoss loses records of a store: managers that have read them keep them, and write them back.
func TestLoss(t *testing.T) {
	k := keysOfShard(60, 4)
	play(t, scenario{
		name: "an outage longer than MaxStale that ends with an empty store", poll: results{}, config: breaker.Config{OnStale: breaker.KeepLast},
		steps: steps(disable(k[0]), runs, wait(5*time.Second), cut, wait(10*time.Minute), flushed, mended, wait(10*time.Second),
			sheds(breaker.ErrDisabled, k[0]), reported(1, breaker.RecordsLost)),
	}, scenario{
		name: "a failover to an older state", agents: 3,
		steps: steps(by(0, disable(k[0], k[1]), byHand((*breaker.Manager).ForceOpen, k[2]), enable(k[1])), by(1, refreshed), failedOver(3),
			by(1, refreshed), by(0, refreshed), by(2, refreshed),
			is(breaker.Disabled, 0, k[0]), is(breaker.Closed, 0, k[1]), is(breaker.Open, 0, k[2])),
	}, scenario{
		// Others write after the failover until the shard's number is what it was.
		name: "a failover that a manager could overlook", agents: 2, poll: results{},
		steps: steps(by(0, disable(k[0], k[1], k[2])), by(1, refreshed), failedOver(2), by(0, refreshed, disable(k[3])),
			by(1, runs, wait(2*time.Minute), sheds(breaker.ErrDisabled, k[3]))),
	}, scenario{
		// The shard's version rises, because a manager that has not read the records writes to it.
		name: "records that vanish before a write", agents: 2, poll: results{k[1]: {Failures: 20}},
		steps: steps(by(0, sampled, disable(k[0]), byHand((*breaker.Manager).ForceClose, k[2])), vanished(k...), wait(time.Second),
			by(1, disable(k[3])), by(0, refreshed), by(1, refreshed),
			sheds(breaker.ErrDisabled, k[0], k[3]), sheds(breaker.ErrOpen, k[1]), sheds(nil, k[2]), forced(true, k[2])),
	}, scenario{
		// A later version of the package wrote over it.
		name: "a record that cannot be read has not vanished",
		steps: steps(disable(k[0]), func(s *scene) { put(s.T, s.store, k[0], `{"v":2}`) }, refreshed, func(s *scene) {
			if r := stored(s.T, s.store, k[0]); len(r) != 1 || !strings.HasPrefix(string(r[0].Data), `{"v":2`) {
				s.Errorf("got %q, want what the later version wrote", r)
			}
		}),
	})
}
