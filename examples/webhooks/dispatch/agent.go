package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/throttle/breaker"
)

const (
	maxAttempts = 6
	// windowsKept is how long rows stay in the table: well beyond what is counted.
	windowsKept = 4
	// jsonType is what a webhook is.
	jsonType = "application/json"
)

// Agent is one process of a dispatcher, with everything that would be its own there: connections, workers, a breaker's manager.
type Agent struct {
	Name string
	// Manager is the agent's breaker, nil without one.
	Manager *breaker.Manager

	fleet    *Fleet
	handle   *Handle
	store    *mortal
	client   *http.Client
	circuits []*breaker.Circuit // by the endpoint's number

	mu      sync.Mutex
	results []Attempt // not written yet

	cancel context.CancelFunc
	ended  chan struct{}
}

func (f *Fleet) newAgent(name string) (*Agent, error) {
	h, err := f.config.Storage.Open()
	if err != nil {
		return nil, err
	}
	a := &Agent{Name: name, fleet: f, handle: h, store: &mortal{Store: h.Store}, ended: make(chan struct{})}
	a.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: f.config.Workers, DisableCompression: true}}
	if !f.config.Guarded {
		return a, nil
	}
	if a.Manager, err = breaker.New(f.config.breaker(a)); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	for _, e := range f.config.Customers.Endpoints() {
		a.circuits = append(a.circuits, a.Manager.Circuit(e.Key))
	}
	return a, nil
}

// start lets the agent work until it is stopped or killed.
func (a *Agent) start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	var all sync.WaitGroup
	for range a.fleet.config.Workers {
		all.Go(func() { a.work(ctx) })
	}
	all.Go(func() { a.keepWriting(ctx) })
	if a.Manager != nil {
		all.Go(func() { _ = a.Manager.Run(ctx) }) // it says only that it runs already, or is closed
	}
	go func() {
		all.Wait()
		close(a.ended)
	}()
}

// stop ends the agent in good order: its breaker resigns.
func (a *Agent) stop() error {
	a.cancel()
	<-a.ended
	if a.Manager != nil {
		_ = a.Manager.Close() // it never fails
	}
	a.client.CloseIdleConnections()
	return a.handle.Close()
}

// kill ends the agent like SIGKILL: nobody is told, and what was not written is lost. Only deliveries come back, as from any queue.
func (a *Agent) kill() error {
	a.store.dead.Store(true)
	a.mu.Lock()
	a.results = nil
	a.mu.Unlock()
	return a.stop()
}

// work delivers one after the other.
func (a *Agent) work(ctx context.Context) {
	for {
		d, ok := a.fleet.queue.Take(ctx)
		if !ok {
			return
		}
		a.deliver(ctx, d)
	}
}

// deliver makes one attempt, if the endpoint's circuit lets it.
func (a *Agent) deliver(ctx context.Context, d Delivery) {
	attempt := func(ctx context.Context) error { return a.attempt(ctx, d) }
	var err error
	if a.Manager == nil {
		err = attempt(ctx)
	} else {
		err = a.circuits[d.Endpoint.Number].Run(ctx, attempt)
	}
	var shed *breaker.ShedError
	switch {
	case errors.As(err, &shed):
		a.fleet.shed(d, shed)
	case ctx.Err() != nil:
		a.fleet.queue.Put(d) // somebody else will make it
	case err != nil:
		a.fleet.retry(d)
	}
}

// attempt sends the webhook, and notes how that ended.
func (a *Agent) attempt(ctx context.Context, d Delivery) error {
	d.Endpoint.Begin()
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, a.fleet.config.Tempo.Timeout)
	err := a.send(bounded, d.Endpoint)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := time.Since(begun)
	d.Endpoint.End(err, took)
	a.fleet.meter.note(func(f *Figures) { f.attempted(d, begun.Sub(d.Due), took, err) })
	a.mu.Lock()
	a.results = append(a.results, Attempt{Key: d.Endpoint.Key, Agent: a.Name, Failed: err != nil, Ended: begun.Add(took)})
	a.mu.Unlock()
	return err
}

func (a *Agent) send(ctx context.Context, e *customer.Endpoint) error {
	body := strings.NewReader(`{"event":"order.paid","tenant":"` + e.Key.Tenant + `"}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.fleet.config.Customers.URL(e), body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", jsonType)
	response, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("dispatch: the endpoint answered %s", response.Status)
	}
	return nil
}

// keepWriting writes results down, and deletes what is too old to be of account.
func (a *Agent) keepWriting(ctx context.Context) {
	t := a.fleet.config.Tempo
	flush := time.NewTicker(t.Flush)
	defer flush.Stop()
	forget := time.NewTicker(t.Window + rand.N(t.Window))
	defer forget.Stop()
	for {
		select {
		case <-flush.C:
			a.fleet.miss(a.flush(ctx))
		case <-forget.C:
			a.fleet.miss(a.handle.Deliveries.Forget(ctx, windowsKept*t.Window))
		case <-ctx.Done():
			a.fleet.miss(a.flush(context.WithoutCancel(ctx)))
			return
		}
	}
}

// flush writes the results. What could not be written is tried again.
func (a *Agent) flush(ctx context.Context) error {
	a.mu.Lock()
	results := a.results
	a.results = nil
	a.mu.Unlock()
	if len(results) == 0 || a.store.dead.Load() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	left, err := a.handle.Deliveries.Write(bounded, results)
	if len(left) > 0 {
		a.mu.Lock()
		a.results = append(left, a.results...)
		a.mu.Unlock()
	}
	return err
}
