package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// The times of the fleet. A takeover may take twice the sample rate; the lease itself takes one and a half.
const (
	sampleRate     = time.Second
	breakerTimeout = 2 * time.Second
	trips          = 3
	probeBudget    = 3
	reportEvery    = 200 * time.Millisecond
	callEvery      = 100 * time.Millisecond // to each endpoint, by each agent
)

// report is what an agent reports of itself at short intervals.
type report struct {
	Agent     string
	Frozen    bool // a refresh is overdue, or there was none yet
	Decisions int  // since the last report
	Slow      int  // of them took longer than 5 ms
	Slowest   time.Duration
	Leads     bool
	Term      uint64
	Disabled  []string // keys that it has disabled
	Failures  map[string]uint64
}

// agentEvent is an event of the breaker of an agent.
type agentEvent struct {
	Agent string
	Event breaker.Event
}

// agent is one process of the fleet.
type agent struct {
	name        string
	environment string
	manager     *breaker.Manager
	client      *http.Client
}

// config returns the config of the breaker, which is the same in all agents.
func config(store store.Store) breaker.Config {
	return breaker.Config{
		Name: "fleet", Store: store, SampleRate: sampleRate, ObservabilityWindow: 4 * time.Second, Refresh: 200 * time.Millisecond,
		BreakerTimeout: breakerTimeout, ConsecutiveFailureThreshold: trips, MinimumRequestCount: 5, HalfOpenProbes: probeBudget,
		MaxStale: time.Minute, ConsecutiveResetAfter: time.Minute,
	}
}

// runAgent runs an agent until it is interrupted. Its arguments are its name, the URL of the
// environment, and the address of the Redis.
func runAgent(args []string) error {
	name, environment, address := args[0], args[1], args[2]
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client := redis.NewUniversalClient(redisstore.Options(address))
	defer client.Close()
	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "fleet"})
	if err != nil {
		return err
	}
	a := &agent{name: name, environment: environment, client: &http.Client{Timeout: 10 * time.Second}}
	c := config(store)
	c.Poll = a.poll
	c.Hooks = breaker.Hooks{Changed: func(e breaker.Event) { _ = a.post("/event", agentEvent{Agent: name, Event: e}, nil) }}
	if a.manager, err = breaker.New(c); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, work := range []func(context.Context){a.run, a.call, a.decide} {
		all.Go(func() { work(ctx) })
	}
	all.Wait()
	return a.manager.Close()
}

func (a *agent) run(ctx context.Context) {
	if err := a.manager.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// post sends a value to the environment and decodes the answer.
func (a *agent) post(path string, what, answer any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	response, err := a.client.Post(a.environment+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// pollRequest is a PollQuery on the wire.
type pollRequest struct {
	Window time.Duration
	Since  map[string]time.Duration
}

func (a *agent) poll(_ context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	request := pollRequest{Window: q.Window, Since: map[string]time.Duration{}}
	for k, d := range q.Since {
		request.Since[k.ID] = d
	}
	var answer map[string]breaker.PollResult
	if err := a.post("/poll", request, &answer); err != nil {
		return nil, err
	}
	results := map[breaker.Key]breaker.PollResult{}
	for id, r := range answer {
		results[breaker.Key{ID: id}] = r
	}
	return results, nil
}

// attempt is a call to an endpoint.
type attempt struct {
	Agent      string
	Key        string
	State      breaker.State
	Generation uint64
	Begun      time.Time // before the breaker decided
}

// call calls every endpoint at its rate if the breaker admits the call.
func (a *agent) call(ctx context.Context) {
	ticks := time.NewTicker(callEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		for _, key := range endpoints() {
			k, begun := breaker.Key{ID: key}, time.Now()
			permit, err := a.manager.Circuit(k).Acquire(ctx)
			if err != nil {
				continue
			}
			call := attempt{Agent: a.name, Key: key, State: permit.State(), Generation: a.manager.Status(k).Generation, Begun: begun}
			permit.Done(a.post("/call", call, nil))
		}
	}
}

// decide takes decisions in a loop and reports how long they took.
func (a *agent) decide(ctx context.Context) {
	healthy := a.manager.Circuit(breaker.Key{ID: endpoints()[0]})
	for ctx.Err() == nil {
		r := report{Agent: a.name}
		for end := time.Now().Add(reportEvery); time.Now().Before(end); {
			for range 20 {
				begun := time.Now()
				_ = healthy.CanExecute(ctx)
				took := time.Since(begun)
				r.Decisions++
				r.Slowest = max(r.Slowest, took)
				if took > 5*time.Millisecond {
					r.Slow++
				}
			}
			<-time.After(time.Millisecond)
		}
		a.fill(&r)
		_ = a.post("/report", r, nil)
	}
}

// fill adds the state of the manager.
func (a *agent) fill(r *report) {
	s := a.manager.Stats()
	r.Leads, r.Term, r.Frozen = s.Leads, s.Term, s.SnapshotAge < 0 || s.SnapshotAge > time.Second
	r.Failures = map[string]uint64{}
	for f, n := range s.Errors.All() {
		if n > 0 {
			r.Failures[f.String()] = n
		}
	}
	for _, status := range a.manager.List() {
		if status.State == breaker.Disabled {
			r.Disabled = append(r.Disabled, status.Key.ID)
		}
	}
}
