package breaker

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// noon is an instant of a store.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

func machineConfig(change func(*Config)) *Config {
	c := Config{Name: "x", SampleRate: 10 * time.Second, ConsecutiveFailureThreshold: 3, HalfOpenProbes: 5}
	if change != nil {
		change(&c)
	}
	c = c.withDefaults()
	return &c
}

func TestEachStepOfACircuit(t *testing.T) {
	open := record{Status: Status{State: Open, Trips: 1, Generation: 7, ChangedAt: noon}, openUntil: after(30 * time.Second), calledAt: noon}
	halfOpen := record{Status: Status{State: HalfOpen, Trips: 2, Generation: 7, ChangedAt: noon}, openUntil: noon, calledAt: noon.Add(-time.Minute)}
	probed := halfOpen
	probed.calledAt = noon
	tripped := record{Status: Status{State: Closed, Trips: 2, Generation: 7, ChangedAt: noon}, countSince: noon, calledAt: noon}
	tests := []struct {
		name   string
		record record
		counts PollResult
		at     time.Duration // after noon
		want   string        // the state, trips and generation that follow; "" for no write
	}{
		{"healthy", record{Status: Status{ChangedAt: noon}}, PollResult{Successes: 1000}, 0, "closed 0 0"},
		{"failing", record{Status: Status{ChangedAt: noon}}, PollResult{Failures: 7, Successes: 3}, 0, "open 1 1 closed>open:failing"},
		{"failing too little", record{Status: Status{ChangedAt: noon}}, PollResult{Failures: 699, Successes: 301}, 0, "closed 0 0"},
		{"failing too rarely", record{Status: Status{ChangedAt: noon}}, PollResult{Failures: 9.9}, 0, "closed 0 0"},
		{"failing without calls", record{Status: Status{ChangedAt: noon}}, PollResult{}, 0, ""},

		{"open", open, PollResult{Failures: 100}, 30*time.Second - 1, ""},
		{"open, time over", open, PollResult{}, 30 * time.Second, "half_open 1 7 open>half_open:time_over"},
		{"open, probed before the leader came", open, PollResult{Failures: 5}, 31 * time.Second, "open 2 8 open>half_open:time_over half_open>open:failing"},

		{"half-open, silent", halfOpen, PollResult{}, 20 * time.Hour, ""},
		{"half-open, too few", halfOpen, PollResult{Failures: 4}, 10 * time.Second, "half_open 2 7"},
		{"half-open, recovered", halfOpen, PollResult{Successes: 3, Failures: 2}, 10 * time.Second, "closed 2 8 half_open>closed:recovered"},
		{"half-open, failing", halfOpen, PollResult{Successes: 1, Failures: 4}, 10 * time.Second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, undecided", halfOpen, PollResult{Successes: 2, Failures: 3}, 10 * time.Second, "half_open 2 7"},
		{"half-open, undecided by nine", halfOpen, PollResult{Successes: 4, Failures: 5}, 10 * time.Second, "half_open 2 7"},
		{"half-open, undecided by ten", halfOpen, PollResult{Successes: 4, Failures: 6}, 10 * time.Second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, undecided and not overdue", probed, PollResult{Successes: 2, Failures: 3}, 40*time.Second - 1, ""},
		{"half-open, undecided for long", probed, PollResult{Successes: 2, Failures: 3}, 40 * time.Second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, few for long, well", probed, PollResult{Successes: 1}, 40 * time.Second, "closed 2 8 half_open>closed:recovered"},
		{"half-open, few for long, failing", probed, PollResult{Failures: 1}, 40 * time.Second, "disabled 3 8 half_open>disabled:too_many_trips"},
		{"half-open, forgotten", halfOpen, PollResult{}, 8 * 24 * time.Hour, "closed 0 8 half_open>closed:forgotten"},

		{"tripped, well, too soon", tripped, PollResult{Successes: 100}, 5*time.Minute - 1, ""},
		{"tripped, well for long", tripped, PollResult{Successes: 10}, 5 * time.Minute, "closed 0 7"},
		{"tripped, silent for long", tripped, PollResult{Successes: 9}, 5 * time.Minute, ""},
		{"tripped, forgotten", tripped, PollResult{}, 8 * 24 * time.Hour, "closed 0 7"},
		{"tripped, failing again", tripped, PollResult{Failures: 10}, time.Second, "disabled 3 8 closed>disabled:too_many_trips"},

		{"made in shadow, now enforced", record{Status: Status{State: Disabled, Shadow: true, Trips: 3, Generation: 7}}, PollResult{}, 0, "closed 0 8 disabled>closed:forgotten"},

		{"disabled", record{Status: Status{State: Disabled, ChangedAt: noon}}, PollResult{Successes: 1000}, 1000 * time.Hour, ""},
		{"forced open", record{Status: Status{State: Open, Forced: true, ChangedAt: noon}}, PollResult{Successes: 1000}, 1000 * time.Hour, ""},
		{"forced closed", record{Status: Status{State: Closed, Forced: true, ChangedAt: noon}}, PollResult{Failures: 1000}, 1000 * time.Hour, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := machine{settings: machineConfig(nil), now: after(tt.at), results: tt.counts, record: tt.record}
			m.evaluate()
			got := fmt.Sprint(m.State, " ", m.Trips, " ", m.Generation)
			for _, e := range m.events {
				got += fmt.Sprintf(" %v>%v:%v", e.From, e.To, e.Reason)
			}
			if !m.changed {
				got = ""
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if n := len(m.events); n > 0 && m.events[n-1].To == Closed && m.countSince != m.now {
				t.Errorf("closed: got calls counted since %v, want since %v", m.countSince, m.now)
			}
		})
	}
}

func TestOpenFor(t *testing.T) {
	fixed := machineConfig(nil)
	growing := machineConfig(func(c *Config) { c.MaxBreakerTimeout = 3 * time.Minute })
	jittered := machineConfig(func(c *Config) { c.Jitter = 0.5 })
	tests := []struct {
		c     *Config
		trips int
		draw  float64
		want  time.Duration
	}{
		{fixed, 1, 0.9, 30 * time.Second},
		{fixed, 1e6, 0, 30 * time.Second},
		{growing, 1, 0, 30 * time.Second},
		{growing, 2, 0, time.Minute},
		{growing, 3, 0, 2 * time.Minute},
		{growing, 4, 0, 3 * time.Minute},
		{growing, math.MaxInt, 0, 3 * time.Minute},
		{jittered, 1, 0, 30 * time.Second},
		{jittered, 1, 0.5, 22500 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := tt.c.openFor(tt.trips, tt.draw); got != tt.want {
			t.Errorf("openFor(%d, %v) = %v, want %v", tt.trips, tt.draw, got, tt.want)
		}
	}
}
