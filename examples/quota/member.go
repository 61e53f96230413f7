package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// settingsVariable is the environment variable with the settings of a member.
const settingsVariable = "SPILLWAY_QUOTA_SETTINGS"

const (
	workers  = 4                    // of each member
	callTime = 5 * time.Millisecond // of a call to the partner
)

// limit returns the limit of the bucket, which is below the quota. After an outage the processes
// reach the store again one after the other. Until then some use the bucket and others their
// shares, so together they may call more often than the limit.
func (s settings) limit() bucket.Limit {
	return bucket.PerSecond(int64(s.Quota) * 9 / 10).WithBurst(max(int64(s.Quota)/4, int64(s.Processes)))
}

// newLimiter returns the limiter of this process. All processes use the same store and limit.
// Replicas is the number of processes: with the policy bucket.LocalShare each of them gets an equal
// share of the limit while the store gives no answer. That suits a quota in a contract: the calls
// go on, and all processes together stay within the limit.
func (s settings) newLimiter(store store.Store) (*bucket.Limiter, error) {
	return bucket.New(bucket.Config{
		Name: "partner", Limit: s.limit(), Store: store, OnFailure: s.Policy, Replicas: s.Processes,
	})
}

// cuttableStore is a store behind a simulated network. While the network is cut, no call gets an
// answer.
type cuttableStore struct {
	store.Store

	cut atomic.Bool
}

// Take waits until ctx ends if the network is cut.
func (c *cuttableStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	if c.cut.Load() {
		<-ctx.Done()
		return bucket.Decision{}, ctx.Err()
	}
	return c.Store.Take(ctx, r)
}

// member is the program of one process. It ends when its standard input ends, so it ends with its
// parent, even if the parent is killed.
func member(text string, stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes of a terminal; the parent stops its members
	var s settings
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.work(stdin, json.NewEncoder(stdout))
	}
	return program.Conclude(stderr, "quota: a process", err)
}

// work runs the workers. For each line of stdin, which is true if the network is cut, it writes a
// report.
func (s settings) work(stdin io.Reader, reports *json.Encoder) (err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server, err := watch.Open(s.Metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	store, closeStore, err := s.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	shared := &cuttableStore{Store: store}
	l, err := s.newLimiter(shared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var granted atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { call(ctx, l, &granted) })
	}
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		cut := lines.Text() == fmt.Sprint(true)
		if cut {
			shared.cut.Store(true)
		}
		r := report{Granted: granted.Load(), URL: server.URL()} // after a cut and before its end
		shared.cut.Store(cut)
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
	stop()
	all.Wait()
	return reports.Encode(report{Granted: granted.Load()})
}

// call calls the partner as often as the limiter allows.
func call(ctx context.Context, l *bucket.Limiter, granted *atomic.Int64) {
	for ctx.Err() == nil {
		if err := l.Wait(ctx, "calls", 1); err == nil {
			granted.Add(1)
		}
		_ = program.Sleep(ctx, callTime) // here a program of yours calls the partner, if err is nil
	}
}
