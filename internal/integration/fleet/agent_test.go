package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

const (
	trips     = 3                      // consecutive ones, then an endpoint is disabled
	callEvery = 100 * time.Millisecond // to each endpoint, by each agent
)

func endpoints() []string {
	return append([]string{"https://one:8443/well", "https://two:8443/well", "well"}, failing()...)
}

// failing returns the endpoints that fail until they are restored.
func failing() []string { return []string{"https://one:8443/dead", "https://two:8443/dead", "dead"} }

// newManager returns a manager of the breaker of the fleet, with the same settings in all processes.
func newManager(address string, c breaker.Config) (m *breaker.Manager, end func(), err error) {
	client := redis.NewUniversalClient(redisstore.Options(address))
	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "fleet"})
	if err != nil {
		return nil, nil, err
	}
	c.Name, c.Store, c.ConsecutiveFailureThreshold, c.MinimumRequestCount, c.HalfOpenProbes = "fleet", store, trips, 5, 3
	c.SampleRate, c.ObservabilityWindow, c.Refresh, c.BreakerTimeout = time.Second, 4*time.Second, 200*time.Millisecond, 2*time.Second
	c.MaxStale, c.ConsecutiveResetAfter = time.Minute, time.Minute
	m, err = breaker.New(c)
	return m, func() { _ = client.Close() }, err
}

// agent is one process of the fleet. It prints what it does, a word and facts a line.
type agent struct {
	manager  *breaker.Manager
	restored string // a file: when it exists, no endpoint fails
}

// runAgent runs an agent until it is interrupted. Its arguments are the address of the Redis, and the file by which the
// test restores the endpoints.
func runAgent(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &agent{restored: args[1]}
	m, end, err := newManager(args[0], breaker.Config{Poll: a.poll, Hooks: breaker.Hooks{Changed: func(e breaker.Event) {
		fmt.Println("changed", e.Key.ID, e.Generation, e.To, e.Trips)
	}}})
	if err != nil {
		return err
	}
	defer end()
	a.manager = m
	var all sync.WaitGroup
	all.Go(func() { err = m.Run(ctx) })
	all.Go(func() { a.work(ctx) })
	all.Wait()
	return errors.Join(err, m.Close())
}

// result returns how a call to an endpoint ends.
func (a *agent) result(key string) error {
	if _, err := os.Stat(a.restored); err == nil || !slices.Contains(failing(), key) {
		return nil
	}
	return errors.New("down")
}

// poll returns ten calls to each endpoint.
func (a *agent) poll(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	results := map[breaker.Key]breaker.PollResult{}
	for _, key := range endpoints() {
		if a.result(key) == nil {
			results[breaker.Key{ID: key}] = breaker.PollResult{Successes: 10}
		} else {
			results[breaker.Key{ID: key}] = breaker.PollResult{Failures: 10}
		}
	}
	return results, nil
}

// work calls the endpoints, and prints calls to those that can fail. It also prints whether it leads, and what it has
// disabled, when that has changed.
func (a *agent) work(ctx context.Context) {
	printed := ""
	for ctx.Err() == nil {
		for _, key := range endpoints() {
			begun := time.Now()
			permit, err := a.manager.Circuit(breaker.Key{ID: key}).Acquire(ctx)
			if err != nil {
				continue
			}
			permit.Done(a.result(key))
			if slices.Contains(failing(), key) {
				fmt.Println("called", key, begun.UnixNano())
			}
		}
		state := fmt.Sprint("state ", a.manager.Stats().Leads)
		for _, s := range a.manager.List() {
			if s.State == breaker.Disabled {
				state += " " + s.Key.ID
			}
		}
		if state != printed {
			fmt.Println(state)
		}
		printed = state
		program.Sleep(ctx, callEvery)
	}
}
