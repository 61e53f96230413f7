package breaker_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// stored7 is a record of generation 7 of the circuit "a". Its times are relative to now.
func stored7(state string, trips int, changed, openUntil, called time.Duration) string {
	at := func(d time.Duration) int64 { return time.Now().Add(d).UnixMicro() }
	return fmt.Sprintf(`{"v":1,"id":"a","state":%q,"trips":%d,"generation":7,"changed_at":%d,"open_until":%d,"count_since":%d,"called_at":%d}`,
		state, trips, at(changed), at(openUntil), at(changed), at(called))
}

// counts is the results of a poll.
type counts = breaker.PollResult

// TestMachine_steps makes one round with the results of a poll, over a record that another manager has
// written.
func TestMachine_steps(t *testing.T) {
	const second, minute, none = time.Second, time.Minute, ""
	open := func() string { return stored7("open", 1, 0, 30*second, 0) }
	halfOpen := func() string { return stored7("half_open", 2, 0, 0, -minute) }
	probed := func() string { return stored7("half_open", 2, 0, 0, 0) }
	tripped := func() string { return stored7("closed", 2, 0, 0, 0) }
	with := func(more string) func() string {
		return func() string { return `{"v":1,"id":"a","generation":7,` + more }
	}
	tests := []struct {
		name   string
		record func() string
		polled counts
		at     time.Duration // after the record was written
		want   string        // the state, trips and generation that follow; none without a write
	}{
		{"healthy", nil, counts{Successes: 1000}, 0, none},
		{"failing", nil, counts{Failures: 7, Successes: 3}, 0, "open 1 1 closed>open:failing"},
		{"failing too little", nil, counts{Failures: 699, Successes: 301}, 0, none},
		{"failing too rarely", nil, counts{Failures: 9.9}, 0, none},

		{"open", open, counts{Failures: 100}, 30*second - 1, none},
		{"open, time over", open, counts{}, 30 * second, "half_open 1 7 open>half_open:time_over"},
		{"open, probed before the leader came", open, counts{Failures: 5}, 31 * second, "open 2 8 open>half_open:time_over half_open>open:failing"},

		{"half-open, silent", halfOpen, counts{}, 20 * time.Hour, none},
		{"half-open, too few", halfOpen, counts{Failures: 4}, 10 * second, "half_open 2 7"},
		{"half-open, recovered", halfOpen, counts{Successes: 3, Failures: 2}, 10 * second, "closed 2 8 half_open>closed:recovered"},
		{"half-open, failing", halfOpen, counts{Successes: 1, Failures: 4}, 10 * second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, undecided", halfOpen, counts{Successes: 2, Failures: 3}, 10 * second, "half_open 2 7"},
		{"half-open, undecided by nine", halfOpen, counts{Successes: 4, Failures: 5}, 10 * second, "half_open 2 7"},
		{"half-open, undecided by ten", halfOpen, counts{Successes: 4, Failures: 6}, 10 * second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, undecided and not overdue", probed, counts{Successes: 2, Failures: 3}, 40*second - 1, none},
		{"half-open, undecided for long", probed, counts{Successes: 2, Failures: 3}, 40 * second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, few for long, well", probed, counts{Successes: 1}, 40 * second, "closed 2 8 half_open>closed:recovered"},
		{"half-open, few for long, failing", probed, counts{Failures: 1}, 40 * second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, forgotten", halfOpen, counts{}, 8 * 24 * time.Hour, "closed 0 0 half_open>closed:forgotten"},

		{"tripped, well, too soon", tripped, counts{Successes: 100}, 5*minute - 1, none},
		{"tripped, well for long", tripped, counts{Successes: 10}, 5 * minute, "closed 0 0"},
		{"tripped, silent for long", tripped, counts{Successes: 9}, 5 * minute, none},
		{"tripped, forgotten", tripped, counts{}, 8 * 24 * time.Hour, "closed 0 0"},
		{"tripped, failing again", tripped, counts{Failures: 10}, second, "disabled 3 8 closed>disabled:too_many_trips"},

		{"made in shadow, now enforced", with(`"state":"disabled","trips":3,"dry_run":true}`), counts{}, 0, "closed 0 0 disabled>closed:forgotten"},
		{"disabled", with(`"state":"disabled"}`), counts{Successes: 1000}, 1000 * time.Hour, none},
		{"forced open", with(`"state":"open","forced":true}`), counts{Successes: 1000}, 1000 * time.Hour, none},
		{"forced closed", with(`"state":"closed","forced":true}`), counts{Failures: 1000}, 1000 * time.Hour, none},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			equals(t, round(t, tt.record, tt.polled, tt.at), tt.want, "round")
		})
	}
}

// round makes one round, and returns the circuit's state and what has changed. It returns nothing if
// nothing was written.
func round(t *testing.T, record func() string, polled counts, at time.Duration) string {
	store, k, changes := breaker.NewMemoryStore(), breaker.Key{ID: "a"}, ""
	if record != nil {
		put(t, store, k, record())
	}
	time.Sleep(at)
	before, err := store.Versions(t.Context())
	must(t, err)
	var last breaker.PollQuery
	m := agent(t, breaker.Config{
		Store: store, SampleRate: 10 * time.Second, ConsecutiveFailureThreshold: 3, HalfOpenProbes: 5,
		Hooks: breaker.Hooks{Changed: func(e breaker.Event) { changes += fmt.Sprintf(" %v>%v:%v", e.From, e.To, e.Reason) }},
		Poll: func(_ context.Context, q breaker.PollQuery) (map[breaker.Key]counts, error) {
			last = q
			return map[breaker.Key]counts{k: polled}, nil
		},
	})
	sample(t, m)
	after, err := store.Versions(t.Context())
	must(t, err)
	if after == before {
		return changes
	}
	s := m.Status(k)
	if time.Sleep(time.Second); s.State == breaker.Closed && changes != "" {
		polled = counts{}
		if sample(t, m); last.Since[k] != time.Second {
			t.Errorf("closed: got calls of the last %v counted, want of 1 s", last.Since[k])
		}
	}
	return fmt.Sprint(s.State, " ", s.Trips, " ", s.Generation, changes)
}

// TestMachine_openTimes fails the probes of a circuit that has tripped before.
func TestMachine_openTimes(t *testing.T) {
	for _, tt := range []struct {
		trips   int // this one included
		longest time.Duration
		want    time.Duration
	}{
		{1, 0, 30 * time.Second},
		{1e6, 0, 30 * time.Second},
		{1, 3 * time.Minute, 30 * time.Second},
		{2, 3 * time.Minute, time.Minute},
		{3, 3 * time.Minute, 2 * time.Minute},
		{4, 3 * time.Minute, 3 * time.Minute},
		{math.MaxInt, 3 * time.Minute, 3 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			put(t, store, k, stored7("half_open", tt.trips-1, 0, 0, 0))
			m := agent(t, breaker.Config{Store: store, MaxBreakerTimeout: tt.longest, Poll: polled(counts{Failures: 20})})
			sample(t, m)
			if s := m.Status(k); s.Trips != tt.trips || s.RetryAfter != tt.want {
				t.Errorf("trip %d, at most %v: got %+v, want open for %v", tt.trips, tt.longest, s, tt.want)
			}
		})
	}
}

func TestMachine_jitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, different := agent(t, breaker.Config{Jitter: 0.5, Poll: failingAll(50)}), map[time.Duration]bool{}
		sample(t, m)
		for _, s := range m.List() {
			if different[s.RetryAfter] = true; s.RetryAfter < 15*time.Second || s.RetryAfter > 30*time.Second {
				t.Errorf("got open for %v, want 15 s to 30 s", s.RetryAfter)
			}
		}
		if len(different) < 25 {
			t.Errorf("got %d different times of 50 circuits, want them spread", len(different))
		}
	})
}
