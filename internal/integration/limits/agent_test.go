package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

type agent struct {
	order

	journal  *journal
	limiters []*bucket.Limiter
}

// runAgent runs an agent. It prints when it is ready and when its jobs are done, and ends when it is
// interrupted.
func runAgent(orders []string) error {
	a := &agent{}
	if err := json.Unmarshal([]byte(orders[0]), &a.order); err != nil {
		return err
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file, err := os.Create(a.Log)
	if err != nil {
		return err
	}
	defer file.Close()
	a.journal = &journal{file: file}
	end, err := a.open()
	if err != nil {
		return err
	}
	defer end()
	fmt.Println("ready")
	ctx, cancel := until(interrupted, a.Go)
	<-ctx.Done()
	cancel()
	ctx, cancel = until(interrupted, a.Stop)
	defer cancel()
	if err := a.work(ctx); err != nil {
		return err
	}
	fmt.Println("\ndone")
	<-interrupted.Done()
	return nil
}

// until returns a context that ends when the file exists.
func until(ctx context.Context, file string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for program.Sleep(ctx, 5*time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				cancel()
			}
		}
	}()
	return ctx, cancel
}

// open creates a limiter for each job. They share the connections of the agent.
func (a *agent) open() (end func(), err error) {
	store, end, err := a.Engine.open(a.Bucket, a.Jobs[0].Timeout)
	if err != nil {
		return nil, err
	}
	for _, j := range a.Jobs {
		l, err := bucket.New(bucket.Config{
			Name: a.Bucket, Limit: j.Limit, Store: store, OnFailure: j.Policy, Replicas: a.Replicas, StoreTimeout: j.Timeout,
			OneByOne: j.OneByOne, Lease: j.Lease,
		})
		if err != nil {
			return nil, err
		}
		a.limiters = append(a.limiters, l)
	}
	return end, nil
}

// work runs all jobs at once. It cancels no call, so that each is answered.
func (a *agent) work(ctx context.Context) error {
	var all sync.WaitGroup
	total := 0
	for _, j := range a.Jobs {
		total += j.callers()
	}
	errs := make(chan error, total)
	for i, j := range a.Jobs {
		for who := range j.callers() {
			all.Go(func() { errs <- a.ask(ctx, i, who) })
		}
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ask takes one token after the other, and records the answers.
func (a *agent) ask(ctx context.Context, i, who int) error {
	j := a.Jobs[i]
	program.Sleep(ctx, j.Pause*time.Duration(who)/time.Duration(j.callers())) // so that they do not all start at once
	for ctx.Err() == nil {
		end, err := a.journal.begin(decision{Job: uint8(i), Who: uint16(who), Wanted: 1})
		if err != nil {
			return err
		}
		d, err := a.limiters[i].Decide(context.Background(), j.key(who))
		end(d, err)
		if !d.Allowed || d.Source == bucket.SourcePolicy {
			program.Sleep(ctx, j.Pause)
		}
	}
	return nil
}
