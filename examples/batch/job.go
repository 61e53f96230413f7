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

// spending is how many writes a second the account pays for, whatever the table accepts.
const spending = 1000

// job is what the workers share.
type job struct {
	table   *table
	backoff *backoff.Responsive // nil with -backoff=false
	budget  *bucket.Limiter
}

// newJob makes the backoff and the bucket. The table begins with a capacity.
func newJob(s settings, perSecond int64, seen *watch.Server) (*job, error) {
	t, err := newTable(perSecond)
	if err != nil {
		return nil, err
	}
	j := &job{table: t}
	j.budget, err = bucket.New(bucket.Config{
		Name: "account", Limit: bucket.PerSecond(spending).WithBurst(spending / 20), Hooks: seen.BucketHooks(),
	})
	if err != nil || !s.backoff {
		return j, err
	}
	// A delay below InitialInterval counts as none. It must be well below the shortest delay that
	// the job needs, which is a millisecond here.
	j.backoff, err = backoff.New(backoff.Config{
		Name: "orders-table", InitialInterval: time.Second / spending / 2, DownMultiplierThreshold: 10, Hooks: seen.BackoffHooks(),
	})
	return j, err
}

// write makes one attempt to write an item. The bucket comes first: the answer of the table must
// belong to the delay at which the backoff let the call through.
func (j *job) write(ctx context.Context) error {
	if err := j.budget.Wait(ctx, "", 1); err != nil {
		return err
	}
	if j.backoff == nil {
		return j.table.write(ctx)
	}
	return j.backoff.Do(ctx, j.table.write)
}

// work writes items until ctx ends. A throttled item is tried again at once: the backoff delays the
// attempt.
func (j *job) work(ctx context.Context) {
	for ctx.Err() == nil {
		_ = j.write(ctx)
	}
}

// delay returns the backoff's gap between two calls of all workers together.
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
	seen, err := watch.Open(s.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	r := report{out: out, capacity: capacities()[0]}
	j, err := newJob(s, r.capacity, seen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	fmt.Fprintf(out, "%d workers write to a table whose capacity changes. The account pays for %d writes a second.\n",
		s.workers, spending)
	if url := seen.URL(); url != "" {
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
