package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// changes is the time between two changes of the capacity.
const changes = 5 * time.Second

// capacities returns the capacities of the table in order; after the last one the first one
// follows. The last one is above what the account pays for, so that the bucket limits the rate.
func capacities() []int64 { return []int64{400, 800, 400, 1600} }

type counts struct{ written, throttled int64 }

func (c counts) minus(o counts) counts {
	return counts{c.written - o.written, c.throttled - o.throttled}
}

// share returns the percentage of calls that the table throttled.
func (c counts) share() float64 {
	return 100 * float64(c.throttled) / float64(max(1, c.written+c.throttled))
}

// report prints the counts of the job.
type report struct {
	out      io.Writer
	capacity int64  // of the table
	last     counts // at the end of the last second
	settled  counts // in seconds at least two seconds after a change
	elapsed  time.Duration
}

func (r *report) header() {
	fmt.Fprintf(r.out, "\n  second  capacity  written  throttled             delay\n")
}

func (r *report) line(elapsed time.Duration, j *job) {
	now := counts{j.table.written.Load(), j.table.throttled.Load()}
	second := now.minus(r.last)
	fmt.Fprintf(r.out, "%8.0f%8d/s%9d%11d (%4.1f %%)%9.2f ms\n", elapsed.Seconds(), r.capacity, second.written, second.throttled,
		second.share(), float64(j.delay())/float64(time.Millisecond))
	if elapsed%changes == 0 || elapsed%changes > 2*time.Second {
		r.settled.written += second.written
		r.settled.throttled += second.throttled
	}
	r.last, r.elapsed = now, elapsed
}

// provision changes the capacity of the table if it is time.
func (r *report) provision(elapsed time.Duration, t *table) error {
	if elapsed%changes != 0 {
		return nil
	}
	all := capacities()
	r.capacity = all[int(elapsed/changes)%len(all)]
	return t.provision(r.capacity)
}

// summary prints the counts of the whole run.
func (r *report) summary() {
	fmt.Fprintf(r.out, "\n%v: %d items written, %.0f a second; %d calls throttled, %.1f %%\n", r.elapsed, r.last.written,
		float64(r.last.written)/max(1, r.elapsed.Seconds()), r.last.throttled, r.last.share())
	if r.settled.written > 0 {
		fmt.Fprintf(r.out, "From two seconds after each change of the capacity on: %.1f %% throttled\n", r.settled.share())
	}
}

// table stands for a table of a managed database, such as DynamoDB. It accepts as many writes a
// second as its capacity, and throttles the others. A bucket simulates the capacity; its burst is
// the capacity of 50 ms.
type table struct {
	capacity           *bucket.Limiter
	written, throttled atomic.Int64
}

func newTable(perSecond int64) (*table, error) {
	// A hook of its own keeps the default hooks away: the metrics must not show a simulated
	// database.
	hooks := bucket.Hooks{Created: func(*bucket.Limiter) {}}
	l, err := bucket.New(bucket.Config{Name: "table", Limit: capacityOf(perSecond), Hooks: hooks})
	return &table{capacity: l}, err
}

// provision changes the capacity, as an administrator or an autoscaler does.
func (t *table) provision(perSecond int64) error { return t.capacity.SetLimit(capacityOf(perSecond)) }

func capacityOf(perSecond int64) bucket.Limit {
	return bucket.PerSecond(perSecond).WithBurst(perSecond / 20)
}

// write writes one item, which takes 3 to 7 ms. backoff.Classify recognises the error of a
// throttled write. A program of yours converts the error of its database to one of package faults,
// or sets Config.Classify.
func (t *table) write(ctx context.Context) error {
	err := t.capacity.Take(ctx, "", 1)
	if err := program.Sleep(ctx, 3*time.Millisecond+rand.N(4*time.Millisecond)); err != nil {
		return err
	}
	if errors.Is(err, bucket.ErrDenied) {
		t.throttled.Add(1)
		return faults.ResourceExhausted(&faults.QuotaViolation{Subject: "table orders", Description: "no capacity left"})
	}
	t.written.Add(1)
	return err
}
