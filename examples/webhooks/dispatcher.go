package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

const (
	window   = 6 // the deliveries that the leader counts: those of the last 6 rounds
	feedTick = 10 * time.Millisecond
)

// dispatcher runs the agents and has what they share.
type dispatcher struct {
	settings  settings
	out       io.Writer
	storage   *storage
	endpoints []*endpoint
	agents    []*agent
	queue     chan int // deliveries, by the number of their endpoint

	delivered, failed, shed atomic.Int64
	last                    [3]int64 // these three, at the last line
}

// run runs the dispatcher and prints a line for each step.
func run(ctx context.Context, s settings, out io.Writer) (err error) {
	server, err := watch.Open(s.metrics, otelthrottle.WithBreakerDetail(s.endpoints))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	st, err := openStorage(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	d := &dispatcher{settings: s, out: out, storage: st, endpoints: newEndpoints(s.endpoints), queue: make(chan int, s.rate)}
	for n := range agents {
		a, err := d.newAgent(n + 1)
		if err != nil {
			return err
		}
		d.agents = append(d.agents, a)
	}
	d.header(server.URL())
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, a := range d.agents {
		all.Go(func() { a.run(ctx, d) })
	}
	all.Go(func() { d.feed(ctx) })
	_ = program.Every(ctx, 2*s.round, s.duration, func(elapsed time.Duration) error {
		d.step(ctx, elapsed)
		return nil
	})
	stop()
	all.Wait()
	d.summary()
	return nil
}

// feed puts deliveries into the queue, for one endpoint after the other.
func (d *dispatcher) feed(ctx context.Context) {
	ticks := time.NewTicker(feedTick)
	defer ticks.Stop()
	due, next, last := 0.0, 0, time.Now()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		passed := min(time.Since(last), time.Second) // longer if the process was paused
		last = time.Now()
		for due += float64(d.settings.rate) * passed.Seconds(); due >= 1; due-- {
			select {
			case d.queue <- next:
			case <-ctx.Done():
				return
			}
			next = (next + 1) % len(d.endpoints)
		}
	}
}

// step prints a line, changes endpoints, and enables those that are disabled and answer again.
func (d *dispatcher) step(ctx context.Context, elapsed time.Duration) {
	d.line(elapsed)
	if event := changeEndpoints(d.endpoints, int(elapsed/(2*d.settings.round))); event != "" {
		fmt.Fprintf(d.out, "          %s\n", event)
	}
	m := d.agents[0].manager
	for _, e := range d.endpoints {
		if e.dead.Load() || m.Status(e.key).State != breaker.Disabled {
			continue
		}
		if err := m.Enable(ctx, e.key); err != nil && ctx.Err() == nil {
			fmt.Fprintf(d.out, "          %v is enabled at the next step: %v\n", e.key, err)
		}
	}
	_ = d.storage.deleteOld(ctx, 2*window*d.settings.round) // if it fails, the next step deletes them
}

func (d *dispatcher) header(url string) {
	s, circuits := d.settings, d.storage.dialect.String()
	if s.redis != "" {
		circuits = "Redis"
	}
	fmt.Fprintf(d.out, "%d agents with %d workers each deliver %d webhooks a second to %d endpoints.\n", agents, workersPerAgent,
		s.rate, s.endpoints)
	fmt.Fprintf(d.out, "The deliveries are in %v. The agents share circuits in %s.\n", d.storage.dialect, circuits)
	if url != "" {
		fmt.Fprintf(d.out, "metrics: %s/metrics   live page: %s/debug/throttle\n", url, url)
	}
	fmt.Fprintf(d.out, "\n  second  delivered  failed    shed  waiting    circuits: open  half-open  disabled\n")
}

// line prints the deliveries since the last line, and the circuits in the snapshot of the first
// agent.
func (d *dispatcher) line(elapsed time.Duration) {
	now, circuits := [3]int64{d.delivered.Load(), d.failed.Load(), d.shed.Load()}, d.agents[0].manager.Stats().Circuits
	seconds := strconv.FormatFloat(elapsed.Seconds(), 'f', -1, 64)
	fmt.Fprintf(d.out, "%8s%11d%8d%8d%9d%18d%11d%10d\n", seconds, now[0]-d.last[0], now[1]-d.last[1], now[2]-d.last[2],
		len(d.queue), circuits[breaker.Open], circuits[breaker.HalfOpen], circuits[breaker.Disabled])
	d.last = now
}

// summary prints the deliveries and the state changes of the circuits. Each agent counts the
// changes that it made.
func (d *dispatcher) summary() {
	var changes [breaker.Disabled + 1]uint64
	for _, a := range d.agents {
		for state, n := range a.manager.Stats().Changes {
			changes[state] += n
		}
	}
	fmt.Fprintf(d.out, "\ndeliveries: %d made, %d failed after %v each, %d shed\n", d.delivered.Load(), d.failed.Load(),
		d.settings.round, d.shed.Load())
	fmt.Fprintf(d.out, "circuits: %d opened, %d disabled, %d closed again\n", changes[breaker.Open], changes[breaker.Disabled],
		changes[breaker.Closed])
}
