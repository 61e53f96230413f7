package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestAnOldLeaderCanWriteNothing writes with the term of a leader whom another has followed, to every shard, also those that nobody has
// ever written: what is still on its way when the lease changes must not arrive.
func TestAnOldLeaderCanWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ctx := breaker.NewMemoryStore(), t.Context()
		old, err := store.Campaign(ctx, breaker.Candidate{Owner: "old", TTL: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		running(t, agent(t, breaker.Config{Store: store}))
		time.Sleep(time.Second)
		v, err := store.Versions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, version := range v.Shards {
			if _, err := store.Apply(ctx, breaker.Batch{Shard: i, Term: old.Term, Expect: version}); !errors.Is(err, breaker.ErrFenced) {
				t.Errorf("shard %d: got %v, want ErrFenced", i, err)
			}
		}
	})
}

// TestALeaderWhosePollsFailStandsBack has one agent of two whose polls fail, which leads first: the other one takes over, and keeps the lease.
func TestALeaderWhosePollsFailStandsBack(t *testing.T) {
	for name, poll := range map[string]breaker.PollFunc{
		"errors": func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return nil, errBoom
		},
		"panics": func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			panic("no such table")
		},
		"hangs": func(ctx context.Context, _ breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"is deaf": func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			time.Sleep(3 * time.Minute)
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := breaker.NewMemoryStore()
				blind := agent(t, breaker.Config{Store: store, Poll: poll})
				running(t, blind)
				time.Sleep(time.Second)
				able := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{Failures: 20})})
				running(t, able)
				eventually(t, 21*time.Second, "the able one has opened the circuit", inState(breaker.Key{ID: "a"}, breaker.Open, blind, able))
				time.Sleep(time.Minute)
				if !able.Stats().Leads || blind.Stats().Leads || blind.Stats().Failures[breaker.PollFailed] == 0 {
					t.Errorf("got leads %v of the able one and %v of the blind one, want true and false", able.Stats().Leads, blind.Stats().Leads)
				}
				time.Sleep(3 * time.Minute) // nothing of the test may be left behind
			})
		})
	}
}

// TestARoundByHandNotifies makes one round by hand, which is all that this process does.
func TestARoundByHandNotifies(t *testing.T) {
	n := newEars()
	m := agent(t, breaker.Config{Poll: polled(breaker.PollResult{Failures: 20}), Notify: n.notify, Hooks: breaker.Hooks{Changed: n.change}})
	sample(t, m)
	n.check(t, 1)
}

// TestCountsThatAreNone polls nonsense of one circuit, and sense of another: the first stays as it is, the second does not suffer.
func TestCountsThatAreNone(t *testing.T) {
	nonsense, results := breaker.Key{ID: "nonsense"}, map[breaker.Key]breaker.PollResult{}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return results, nil
	}
	m := agent(t, breaker.Config{Poll: poll})
	zero := 0.0
	for i, bad := range []breaker.PollResult{
		{Failures: zero / zero}, {Failures: 1 / zero}, {Failures: -1}, {Failures: 20, Successes: -1}, {Failures: 20, Successes: zero / zero}, {Failures: 1e308, Successes: 1e308},
	} {
		sense := breaker.Key{ID: string(rune('a' + i))}
		results[nonsense], results[sense] = bad, breaker.PollResult{Failures: 20}
		sample(t, m)
		if got := m.Status(nonsense).State; got != breaker.Closed {
			t.Errorf("%v: got state %v, want closed", bad, got)
		}
		if got := m.Status(sense).State; got != breaker.Open {
			t.Errorf("beside %v: got state %v, want open", bad, got)
		}
		if told := m.Stats().Failures[breaker.CountsInvalid]; told != uint64(i+1) {
			t.Errorf("%v: got %d told of, want %d", bad, told, i+1)
		}
	}
}
