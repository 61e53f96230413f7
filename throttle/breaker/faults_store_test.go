package breaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestFault05StoreErrorsReachTheCaller has a store that answers with nothing but errors, from the beginning and later.
func TestFault05StoreErrorsReachTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault failure
		store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
		store.before = fault.meddle
		fault.set(errNetwork)
		down := agent(t, breaker.Config{Store: store})
		running(t, down)
		time.Sleep(time.Minute)
		if err := down.CanExecute(t.Context(), k); err != nil {
			t.Errorf("got %v with a store that was never there, want nil", err)
		}
		if n := down.Stats().Failures[breaker.StoreFailed]; n == 0 {
			t.Error("got no failures of the store told, want some")
		}
	})
}

// TestFault12HalfABatch lets many circuits of few shards open in one round while the store fails now and then: of a shard's
// circuits all or none open.
func TestFault12HalfABatch(t *testing.T) {
	store := newMeddler(breaker.NewMemoryStore())
	writes := 0
	store.before = only(func(context.Context) error {
		if writes++; writes%3 == 0 {
			return errNetwork
		}
		return nil
	}, "Apply")
	keys := make([]breaker.Key, 300)
	for i := range keys {
		keys[i] = breaker.Key{ID: fmt.Sprint(i)}
	}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		all := map[breaker.Key]breaker.PollResult{}
		for _, k := range keys {
			all[k] = breaker.PollResult{Failures: 20}
		}
		return all, nil
	}
	leader, other := agent(t, breaker.Config{Store: store, Poll: poll}), agent(t, breaker.Config{Store: store})
	_ = leader.Sample(t.Context())
	if err := other.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var open, of [breaker.NumShards]int
	for _, k := range keys {
		shard := k.RecordID().Shard()
		of[shard]++
		if other.Status(k).State == breaker.Open {
			open[shard]++
		}
	}
	whole, none := 0, 0
	for i := range of {
		switch open[i] {
		case of[i]:
			whole++
		case 0:
			none++
		default:
			t.Errorf("shard %d: got %d of %d circuits open, want all or none", i, open[i], of[i])
		}
	}
	if whole == 0 || none == 0 {
		t.Errorf("got %d shards written and %d not, want some of both", whole, none)
	}
}

// TestFault13ListsAllKeys counts what agents ask of the store: nothing depends on how many circuits there are.
func TestFault13ListsAllKeys(t *testing.T) {
	asked := func(circuits int) (calls int64) {
		synctest.Test(t, func(t *testing.T) {
			store := newMeddler(breaker.NewMemoryStore())
			sample(t, agent(t, breaker.Config{Store: *store.inner.Load(), Poll: failingAll(circuits), ConsecutiveFailureThreshold: 1}))
			time.Sleep(time.Minute) // until the lease is over
			quiet := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) { return nil, nil }
			running(t, agent(t, breaker.Config{Store: store, Poll: quiet}))
			time.Sleep(time.Minute)
			store.calls.Store(0)
			time.Sleep(time.Minute)
			calls = store.calls.Load()
		})
		return calls
	}
	none, many := asked(0), asked(1000)
	if most := int64(67 + 25 + 13); none > most || many > most { // refreshes, extensions, rounds
		t.Errorf("got %d calls a minute with no circuit and %d with 1,000, want at most %d of either", none, many, most)
	}
}

// TestFault14CorruptRecordsStay puts records into the store that make no sense: they count as absent, are told of, and go.
func TestFault14CorruptRecordsStay(t *testing.T) {
	whole := `{"v":1,"id":"a","state":"disabled","trips":3,"generation":9,"reason":"by_hand","changed_at":1,"failures":0,"successes":0}`
	for _, tt := range []struct{ name, data string }{
		{"no JSON", "\x00\x01"},
		{"empty", ""},
		{"cut", whole[:40]},
		{"older format", strings.Replace(whole, `"v":1`, `"v":0`, 1)},
		{"newer format", strings.Replace(whole, `"v":1`, `"v":2`, 1)},
		{"no format", strings.Replace(whole, `"v":1,`, ``, 1)},
		{"unknown state", strings.Replace(whole, "disabled", "ajar", 1)},
		{"another key's", strings.Replace(whole, `"id":"a"`, `"id":"b"`, 1)},
		{"negative trips", strings.Replace(whole, `"trips":3`, `"trips":-3`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			shard := put(t, store, k, tt.data)
			m := agent(t, breaker.Config{Store: store})
			if err := m.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := m.Stats().Failures[breaker.RecordCorrupt]; n != 1 {
				t.Errorf("got %d corrupt records told of, want 1", n)
			}
			if err := m.CanExecute(t.Context(), k); err != nil {
				t.Errorf("got %v, want nil: it counts as absent", err)
			}
			loaded, err := store.Load(t.Context(), []int{shard})
			left := 0
			if tt.name == "newer format" {
				left = 1 // there are agents who can read it
			}
			if err != nil || len(loaded[0].Records) != left {
				t.Errorf("got %d records left, error %v, want %d", len(loaded[0].Records), err, left)
			}
			for range 10 {
				_ = m.Circuit(k).Run(t.Context(), failing)
			}
			sample(t, m)
			if err := m.CanExecute(t.Context(), k); !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("got %v, want ErrOpen: the circuit must live on", err)
			}
		})
	}
	t.Run("whole", func(t *testing.T) {
		store := breaker.NewMemoryStore()
		put(t, store, breaker.Key{ID: "a"}, whole)
		m := agent(t, breaker.Config{Store: store})
		if err := m.Refresh(t.Context()); err != nil || m.Status(breaker.Key{ID: "a"}).State != breaker.Disabled {
			t.Errorf("got %v and state %v, want nil and disabled", err, m.Status(breaker.Key{ID: "a"}).State)
		}
	})
}

// put writes a record as it is, and returns its shard.
func put(t *testing.T, store breaker.Store, k breaker.Key, data string) int {
	t.Helper()
	id := k.RecordID()
	v, err := store.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Apply(t.Context(), breaker.Batch{
		Shard: id.Shard(), Expect: v.Shards[id.Shard()], Changes: []breaker.Change{{ID: id, Data: []byte(data)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id.Shard()
}

// TestFault15ACallAsksTheStore makes 100,000 calls of every kind: the store hears of none of them.
func TestFault15ACallAsksTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMeddler(breaker.NewMemoryStore())
		m := agent(t, breaker.Config{Store: store, BreakerTimeout: time.Minute})
		keys := []breaker.Key{{ID: "unknown"}, {ID: "open"}, {ID: "disabled"}, {ID: "closed"}}
		err := errors.Join(m.ForceOpen(t.Context(), keys[1]), m.Disable(t.Context(), keys[2]), m.ForceClose(t.Context(), keys[3]))
		if err != nil {
			t.Fatal(err)
		}
		store.calls.Store(0)
		begun := time.Now()
		for i := range 100_000 {
			_ = m.CanExecute(t.Context(), keys[i%len(keys)])
		}
		if n := store.calls.Load(); n != 0 {
			t.Errorf("got %d calls to the store, want 0", n)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("the calls waited for %v, want for nothing", took)
		}
	})
}

// TestFault19ClocksAreCompared runs a fleet whose store's clock is an hour off from that of the agents.
func TestFault19ClocksAreCompared(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour, -25 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { skewed(t, by) }) })
	}
}

func skewed(t *testing.T, by time.Duration) {
	k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
	var last atomic.Pointer[breaker.Event]
	all := agents(t, 3, breaker.Config{
		Store: offClock{breaker.NewMemoryStore(), by}, Poll: f.poll,
		Hooks: breaker.Hooks{Changed: func(e breaker.Event) { last.Store(&e) }},
	})
	running(t, all...)
	f.during(t.Context(), 4*time.Second, 20, k, 1, all...)
	eventually(t, 3*time.Second, "it is open", inState(k, breaker.Open, all...))
	if off := time.Until(last.Load().At) - by; off > time.Second || off < -2*time.Second {
		t.Errorf("got a change at %v from the store's time, want at it", off)
	}
	if r := all[2].Status(k).RetryAfter; r < 28*time.Second || r > 30*time.Second {
		t.Errorf("got RetryAfter %v just after it opened, want about 30 s", r)
	}
	took := eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, all...))
	if took < 28*time.Second {
		t.Errorf("it was half-open after %v, want BreakerTimeout", took)
	}
	f.during(t.Context(), 11*time.Second, 20, k, 0, all...)
	if !inState(k, breaker.Closed, all...)() {
		t.Errorf("got state %v after it has recovered, want closed", all[0].Status(k).State)
	}
	if err := all[0].Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Second, "all know", inState(k, breaker.Disabled, all...))
}

// TestRecordsAreReadable holds the words of a stored record, which another version of the program must understand.
func TestRecordsAreReadable(t *testing.T) {
	store, k := breaker.NewMemoryStore(), breaker.Key{Tenant: "t", ID: "a"}
	if err := agent(t, breaker.Config{Store: store}).Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	loaded, err := store.Load(t.Context(), []int{k.RecordID().Shard()})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(loaded[0].Records[0].Data, &got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"v": 1.0, "tenant": "t", "id": "a", "state": "disabled", "reason": "by_hand", "generation": 1.0} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
}
