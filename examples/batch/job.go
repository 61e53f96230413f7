package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// spending is the number of writes per second that the account pays for. The table may accept more.
const spending = 1000

// job has what the workers share: one backoff and one bucket, not one per worker.
type job struct {
	table   *table
	backoff *backoff.Responsive // nil with -backoff=false
	budget  *bucket.Limiter
}

// newJob makes the table with its first capacity, the backoff and the bucket. The bucket limits a
// rate that is known in advance. The backoff finds the rate that the table accepts, which is not
// known. Their Configs have no Hooks: the default hooks, set by watch.Open, report them.
func newJob(s settings, perSecond int64) (*job, error) {
	t, err := newTable(perSecond)
	if err != nil {
		return nil, err
	}
	j := &job{table: t}
	j.budget, err = bucket.New(bucket.Config{
		Name: "account", Limit: bucket.PerSecond(spending).WithBurst(spending / 20),
	})
	if err != nil || !s.backoff {
		return j, err
	}
	// A delay below InitialInterval counts as none. So InitialInterval must be well below the
	// shortest delay that the job needs, which is a millisecond here.
	j.backoff, err = backoff.New(backoff.Config{
		Name: "orders-table", InitialInterval: time.Second / spending / 2, DownMultiplierThreshold: 10,
	})
	return j, err
}

// write makes one attempt to write an item. It waits for the bucket first and for the backoff last:
// the backoff changes its delay by the result of the call, so the call must follow the delay at
// once.
func (j *job) write(ctx context.Context) error {
	if err := j.budget.Wait(ctx, "", 1); err != nil {
		return err
	}
	if j.backoff == nil {
		return j.table.write(ctx)
	}
	return j.backoff.Do(ctx, j.table.write)
}

// work writes items until ctx ends. It retries a throttled item without a delay of its own, because
// the backoff delays the attempt.
func (j *job) work(ctx context.Context) {
	for ctx.Err() == nil {
		_ = j.write(ctx)
	}
}

// delay returns the backoff's delay between two calls of all workers together.
func (j *job) delay() time.Duration {
	if j.backoff == nil {
		return 0
	}
	return j.backoff.Delay()
}

func (j *job) close() error {
	var err error
	if j.backoff != nil {
		err = j.backoff.Close()
	}
	return errors.Join(err, j.budget.Close())
}

// run runs the job and prints a line per second.
func run(ctx context.Context, s settings, out io.Writer) (err error) {
	server, err := watch.Open(s.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	r := report{out: out, capacity: capacities()[0]}
	j, err := newJob(s, r.capacity)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	fmt.Fprintf(out, "%d workers write to a table whose capacity changes. The account pays for %d writes a second.\n",
		s.workers, spending)
	if url := server.URL(); url != "" {
		fmt.Fprintf(out, "metrics: %s/metrics   live page: %s/debug/throttle\n", url, url)
	}
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() { j.work(ctx) })
	}
	r.header()
	err = program.Every(ctx, time.Second, s.duration, func(elapsed time.Duration) error {
		r.line(elapsed, j)
		return r.provision(elapsed, j.table)
	})
	stop()
	workers.Wait()
	r.summary()
	return err
}
