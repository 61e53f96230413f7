package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// upkeepTimes is the number of runs of each task.
const upkeepTimes = 31

// upkeep measures the background tasks of a breaker's agent, with a store that answers at once. No call
// waits for these tasks.
func upkeep(wanted *regexp.Regexp) []table {
	const name = "breaker, upkeep at 1,000,000 keys, 2,000 open"
	if !wanted.MatchString(name) {
		return nil
	}
	f := newFleet()
	t := table{heading: "spillway, " + name, rows: [][]string{{"one round", "p10 ms", "p50 ms", "max ms"}}}
	for _, task := range []struct {
		name string
		do   func() error
	}{
		{"an agent's refresh, nothing changed", f.refresh},
		{"an agent's refresh, one circuit changed", f.refreshOne},
		{"an agent's first refresh, of everything", f.refreshAll},
		{"the leader's round, counts of 1,000,000 given", f.round},
	} {
		t.rows = append(t.rows, append([]string{task.name}, durations(task.do)...))
	}
	return []table{t}
}

// durations returns quantiles of the duration of do, in milliseconds.
func durations(do func() error) []string {
	var ms []float64
	for range upkeepTimes {
		begun := time.Now()
		if err := do(); err != nil {
			return []string{err.Error(), "-", "-"}
		}
		ms = append(ms, time.Since(begun).Seconds()*1000)
	}
	slices.Sort(ms)
	return []string{figure("%.3f", quantile(ms, 0.1)), figure("%.3f", quantile(ms, 0.5)), figure("%.3f", quantile(ms, 1))}
}

// fleet is two agents of one store: the leader changes circuits, the other is measured.
type fleet struct {
	store  breakerstore.Store
	leader *breaker.Manager
	agent  *breaker.Manager
	spare  breaker.Key // is opened and closed
	open   bool
}

func newFleet() *fleet {
	store := breaker.NewMemoryStore()
	counts := map[breaker.Key]breaker.PollResult{}
	config := breaker.Config{
		Name: "bench", Store: store, SampleRate: time.Hour, StoreTimeout: time.Minute,
		Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return counts, nil
		},
	}
	f := &fleet{store: store, leader: breaker.Must(breaker.New(config)), agent: breaker.Must(breaker.New(config))}
	for i := range 1_000_000 {
		k := breaker.Key{Tenant: "tenant", ID: fmt.Sprintf("https://endpoint-%07d.example/hooks", i)}
		counts[k] = breaker.PollResult{Successes: 100}
		if i < 2_000 {
			counts[k] = breaker.PollResult{Failures: 100}
		}
	}
	if err := f.round(); err != nil {
		panic(err)
	}
	if err := f.refresh(); err != nil {
		panic(err)
	}
	return f
}

func (f *fleet) refresh() error { return f.agent.Refresh(context.Background()) }

// refreshOne reads a shard in which one circuit has changed. The change itself is part of what is measured.
func (f *fleet) refreshOne() error {
	f.open = !f.open
	change := f.leader.Enable
	if f.open {
		change = f.leader.ForceOpen
	}
	if err := change(context.Background(), f.spare); err != nil {
		return err
	}
	return f.refresh()
}

func (f *fleet) refreshAll() error {
	agent := breaker.Must(breaker.New(breaker.Config{Name: "bench", Store: f.store, StoreTimeout: time.Minute}))
	return agent.Refresh(context.Background())
}

func (f *fleet) round() error { return f.leader.Sample(context.Background()) }
