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

// The times of the fleet.
const (
	sampleRate     = time.Second
	breakerTimeout = 2 * time.Second
	trips          = 3
	reportEvery    = 200 * time.Millisecond
	callEvery      = 100 * time.Millisecond // to each endpoint, by each agent
)

// report is what an agent reports of itself at short intervals.
type report struct {
	Agent    string
	Leads    bool
	Disabled []string // keys that it has disabled
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
		BreakerTimeout: breakerTimeout, ConsecutiveFailureThreshold: trips, MinimumRequestCount: 5, HalfOpenProbes: 3,
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
	for _, work := range []func(context.Context){a.run, a.call, a.report} {
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
	Agent string
	Key   string
	Begun time.Time // before the breaker decided
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
			permit.Done(a.post("/call", attempt{Agent: a.name, Key: key, Begun: begun}, nil))
		}
	}
}

// report sends the state of the manager at short intervals.
func (a *agent) report(ctx context.Context) {
	for ctx.Err() == nil {
		<-time.After(reportEvery)
		r := report{Agent: a.name, Leads: a.manager.Stats().Leads}
		for _, status := range a.manager.List() {
			if status.State == breaker.Disabled {
				r.Disabled = append(r.Disabled, status.Key.ID)
			}
		}
		_ = a.post("/report", r, nil)
	}
}
