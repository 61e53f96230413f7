package breaker_test

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestALeaderWhosePollsFailStandsBack has one agent of two whose polls fail, which leads first: the other one takes over, and keeps the lease.
func TestALeaderWhosePollsFailStandsBack(t *testing.T) {
	for name, poll := range map[string]breaker.PollFunc{
		"errors": polls(func() results { return nil }),
		"panics": polls(func() results { panic("no such table") }),
		"hangs": func(ctx context.Context, _ breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"is deaf": polls(func() results { time.Sleep(3 * time.Minute); return results{} }),
	} {
		bubble(t, name, func(t *testing.T) {
			store := breaker.NewMemoryStore()
			blind := agent(t, breaker.Config{Store: store, Poll: poll})
			running(t, blind)
			time.Sleep(time.Second)
			able := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{Failures: 20})})
			running(t, able)
			eventually(t, 21*time.Second, "the able one has opened the circuit", inState(breaker.Key{ID: "a"}, breaker.Open, blind, able))
			time.Sleep(time.Minute)
			if !able.Stats().Leads || blind.Stats().Leads || blind.Stats().Errors.Of(breaker.PollFailed) == 0 {
				t.Errorf("got leads %v of the able one and %v of the blind one, want true and false", able.Stats().Leads, blind.Stats().Leads)
			}
			time.Sleep(3 * time.Minute) // nothing of the test may be left behind
		})
	}
}

// TestTheLeaderIsFollowed freezes the leader's own way to the store, or its whole life, again and again.
func TestTheLeaderIsFollowed(t *testing.T) {
	for _, rate := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(rate.String(), func(t *testing.T) {
			phases := size(20, 20, 4)
			for i := range phases {
				synctest.Test(t, func(t *testing.T) { followed(t, rate, time.Duration(i)*rate/time.Duration(phases)) })
			}
		})
	}
}

func followed(t *testing.T, rate, phase time.Duration) {
	inner, ices := breaker.NewMemoryStore(), make([]fault, 3)
	var all []*breaker.Manager
	for i := range ices {
		store := newMeddler(inner)
		store.before = ices[i].meddle
		all = append(all, agent(t, breaker.Config{Store: store, SampleRate: rate, Poll: polled(breaker.PollResult{})}))
	}
	running(t, all...)
	leads := func(not int) int {
		return slices.IndexFunc(all, func(m *breaker.Manager) bool { return m.Stats().Leads && (not < 0 || m != all[not]) })
	}
	time.Sleep(3*rate + phase)
	first := leads(-1)
	if first < 0 {
		t.Fatal("no manager leads after three sample rates")
	}
	ices[first].frozen.Store(true)
	begun := time.Now()
	for leads(first) < 0 && time.Since(begun) < 3*rate {
		time.Sleep(rate / 100)
	}
	if took := time.Since(begun); took > 2*rate {
		t.Errorf("the leader was followed after %v, want within %v", took, 2*rate)
	}
	time.Sleep(2 * rate)
	equals(t, all[first].Stats().Leads, false, "the old leader leads, after its lease is over")
	ices[first].thaw()
}

// TestLongPollsKeepTheLease has polls that take three sample rates: the lease is extended
// meanwhile, no other manager leads, and Run ends at once.
func TestLongPollsKeepTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var led, polls atomic.Int64
		c := breaker.Config{
			Store: breaker.NewMemoryStore(), PollTimeout: time.Minute,
			Hooks: breaker.Hooks{Led: func(e breaker.LeadEvent) {
				if e.Leads {
					led.Add(1)
				}
			}},
			Poll: func(ctx context.Context, _ breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
				polls.Add(1)
				select {
				case <-time.After(15 * time.Second):
					return nil, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		}
		stop := running(t, agents(t, 3, c)...)
		time.Sleep(10*time.Minute + time.Second)
		equals(t, led.Load(), 1, "changes of the leader")
		if n := polls.Load(); n < 35 {
			t.Errorf("got %d polls of 15 s in ten minutes, want about 40", n)
		}
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > 250*time.Millisecond {
			t.Errorf("Run ended %v after its context, in the middle of a poll, want at once", took)
		}
	})
}

// TestSlowPollsAreNotMadeUpFor has one poll take longer than three samples: there is one as soon as it is over, and then each is in its time again.
func TestSlowPollsAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		stop := running(t, agent(t, breaker.Config{SampleRate: time.Second, PollTimeout: time.Minute, Poll: polls(func() results {
			if at = append(at, time.Now()); len(at) == 1 {
				time.Sleep(3500 * time.Millisecond)
			}
			return results{}
		})}))
		time.Sleep(6500 * time.Millisecond) // no poll runs then
		stop()
		var got []time.Duration
		for _, poll := range at {
			got = append(got, poll.Sub(at[0]))
		}
		ms := time.Millisecond
		if want := []time.Duration{0, 3500 * ms, 4000 * ms, 5000 * ms, 6000 * ms}; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("got polls at %v want %v", got, want)
		}
	})
}

// leases changes leases that a store has granted.
func leases(change func(*breakerstore.Lease)) func(pointer any) {
	return func(pointer any) {
		if l, ok := pointer.(*breakerstore.Lease); ok {
			change(l)
		}
	}
}

// TestALeaseThatIsOverIsNotAskedForAtOnce grants leases with nothing left, or next to nothing, as a
// store with a clock that is off does, to the agent or to another owner. The agent leads by none
// with nothing left.
func TestALeaseThatIsOverIsNotAskedForAtOnce(t *testing.T) {
	for _, owner := range []string{"", "another"} {
		for _, left := range []time.Duration{-time.Hour, 0, time.Millisecond, 3 * time.Millisecond} {
			bubble(t, owner+" "+left.String(), func(t *testing.T) {
				store, campaigns := newMeddler(breaker.NewMemoryStore()), 0
				store.answer = leases(func(l *breakerstore.Lease) {
					campaigns++
					l.Remaining, l.Owner = left, cmp.Or(owner, l.Owner)
				})
				led := 0
				hooks := breaker.Hooks{Led: func(breaker.LeadEvent) { led++ }}
				m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Hooks: hooks})
				stop := running(t, m)
				time.Sleep(10 * time.Second)
				stop()
				if n := campaigns; n < 4 || n > 2*32 {
					t.Errorf("got the lease asked for %d times in two sample rates, want 4 to 64", n)
				}
				if lost := m.Stats().Errors.Of(breaker.LeaseLost); (lost > 0) != (owner == "") {
					t.Errorf("got %d lost leases reported, want some only of its own", lost)
				}
				if (led > 0) != (owner == "" && left > 0) {
					t.Errorf("got Led called %d times, want it for leases of its own that are not over", led)
				}
			})
		}
	}
}

// TestAnEndlessLeaseEnds grants a lease for a year to a leader that cannot reach the store afterwards: it asked for less.
func TestAnEndlessLeaseEnds(t *testing.T) {
	play(t, scenario{
		name: "a year", poll: results{},
		steps: steps(func(s *scene) {
			s.store.answer = leases(func(l *breakerstore.Lease) { l.Remaining = 365 * 24 * time.Hour })
		},
			runs, wait(time.Second), shows("leads", leads), cut, wait(10*time.Second),
			shows("leads no more", func(s breaker.Stats) bool { return !s.Leads }), reported(1, breaker.LeaseLost)),
	})
}
