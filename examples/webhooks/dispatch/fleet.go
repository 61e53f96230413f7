package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/throttle/breaker"
)

const (
	// writeTimeout is how long writing results may take.
	writeTimeout = 5 * time.Second
	// busy is how long a database may need when the machine has other things to do. All times of this example are short; with those
	// of a real dispatcher there is no need to give any.
	busy = 2 * time.Second
)

// What makes an endpoint dead, beside Trips.
const (
	minimumRequests  = 4
	failureThreshold = 70
	successThreshold = 60
	jitter           = 0.2
)

// Config says what a fleet is made of.
type Config struct {
	Agents    int
	Workers   int // of each agent
	Guarded   bool
	Tempo     Tempo
	Customers *customer.Server
	Storage   *Storage
	Hooks     breaker.Hooks // told beside the journal, of telemetry
	Mailbox   *Mailbox
}

// breaker returns the settings of an agent's breaker. All agents of a fleet have the same.
func (c *Config) breaker(a *Agent) breaker.Config {
	return breaker.Config{
		Name:   BreakerName,
		Store:  a.store,
		Poll:   a.handle.Deliveries.Poll,
		Hooks:  breaker.JoinHooks(c.Hooks, a.fleet.Journal.Hooks()),
		Notify: c.Mailbox.Notify,

		SampleRate:          c.Tempo.SampleRate,
		ObservabilityWindow: c.Tempo.Window,
		Refresh:             c.Tempo.Refresh,
		StoreTimeout:        busy,                          // a busy machine is no dead store,
		PollTimeout:         max(busy, c.Tempo.SampleRate), // and no dead database

		BreakerTimeout:              c.Tempo.BreakerTimeout,
		Jitter:                      jitter,
		FailureThreshold:            failureThreshold,
		SuccessThreshold:            successThreshold,
		MinimumRequestCount:         minimumRequests,
		HalfOpenProbes:              minimumRequests,
		ConsecutiveFailureThreshold: Trips,
	}
}

// Fleet is all agents, and the queue that they share.
type Fleet struct {
	// Journal has what the breakers told.
	Journal *Journal

	config Config
	queue  *Queue
	meter  *Meter
	agents []*Agent // those that live
	joined int      // agents that there ever were

	mu     sync.Mutex
	onHold map[*customer.Endpoint][]Delivery
	missed Failures

	stopQueue context.CancelFunc
	queueDone chan struct{}
}

// Start starts a fleet and feeds it.
func Start(c Config, feed *Feed) (*Fleet, error) {
	f := &Fleet{
		config: c, Journal: NewJournal(), queue: NewQueue(), meter: &Meter{}, onHold: map[*customer.Endpoint][]Delivery{},
		queueDone: make(chan struct{}),
	}
	for range c.Agents {
		if _, err := f.add(); err != nil {
			for _, a := range f.agents {
				err = errors.Join(err, a.handle.Close())
			}
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.stopQueue = cancel
	var both sync.WaitGroup
	both.Go(func() { f.queue.Run(ctx) })
	both.Go(func() { feed.Run(ctx, f.queue) })
	go func() {
		both.Wait()
		close(f.queueDone)
	}()
	for _, a := range f.agents {
		a.start()
	}
	return f, nil
}

// add makes an agent that does nothing yet.
func (f *Fleet) add() (*Agent, error) {
	a, err := f.newAgent(fmt.Sprintf("agent-%d", f.joined+1))
	if err != nil {
		return nil, err
	}
	f.joined++
	f.agents = append(f.agents, a)
	return a, nil
}

// Join lets one more agent work.
func (f *Fleet) Join() error {
	a, err := f.add()
	if err != nil {
		return err
	}
	a.start()
	return nil
}

// Agents returns those that live.
func (f *Fleet) Agents() []*Agent { return slices.Clone(f.agents) }

// Read returns what was measured since the last time.
func (f *Fleet) Read() Figures { return f.meter.Read() }

// Backlog returns how many deliveries are due and wait for a worker.
func (f *Fleet) Backlog() int { return f.queue.Due() }

// Leader returns the agent that leads, nil if none does.
func (f *Fleet) Leader() *Agent {
	for _, a := range f.agents {
		if a.Manager != nil && a.Manager.Stats().Leads {
			return a
		}
	}
	return nil
}

// Kill kills an agent, as SIGKILL would.
func (f *Fleet) Kill(a *Agent) error {
	f.agents = slices.DeleteFunc(f.agents, func(o *Agent) bool { return o == a })
	return a.kill()
}

// AllSee reports whether every agent sees an endpoint's circuit in a state.
func (f *Fleet) AllSee(e *customer.Endpoint, s breaker.State) bool {
	for _, a := range f.agents {
		if a.Manager.Status(e.Key).State != s {
			return false
		}
	}
	return true
}

// Release puts the deliveries that are on hold for an endpoint back into the queue, and returns how many there were.
func (f *Fleet) Release(e *customer.Endpoint) int {
	f.mu.Lock()
	held := f.onHold[e]
	delete(f.onHold, e)
	f.mu.Unlock()
	if len(held) == 0 {
		return 0
	}
	now := time.Now()
	for i := range held {
		held[i].Due = now
	}
	f.queue.Put(held...)
	return len(held)
}

// OnHold returns how many deliveries wait for somebody to enable their endpoint.
func (f *Fleet) OnHold() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, held := range f.onHold {
		n += len(held)
	}
	return n
}

// Stop ends the fleet. It returns the figures that were not read yet; deliveries that wait for a worker have waited at least until now. The
// error is of closing.
func (f *Fleet) Stop() (Figures, error) {
	f.stopQueue()
	<-f.queueDone
	var errs []error
	for _, a := range f.agents {
		errs = append(errs, a.stop())
	}
	f.agents = nil
	figures, now := f.meter.Read(), time.Now()
	for _, d := range f.queue.Drain() {
		if wait := now.Sub(d.Due); wait > 0 && !d.Endpoint.Doomed {
			figures.Waited = append(figures.Waited, wait)
		}
	}
	return figures, errors.Join(errs...)
}

// Misses returns what the table of deliveries did not do the first time, such as when the database was busy for too long.
func (f *Fleet) Misses() Failures {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missed
}

// miss notes an error of something that will be tried again.
func (f *Fleet) miss(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missed = Failures{f.missed.Count + 1, err}
}

// shed keeps a delivery that a breaker shed, until it makes sense to ask again.
func (f *Fleet) shed(d Delivery, shed *breaker.ShedError) {
	f.meter.note(func(g *Figures) { g.shed(d) })
	if errors.Is(shed, breaker.ErrDisabled) {
		f.mu.Lock()
		f.onHold[d.Endpoint] = append(f.onHold[d.Endpoint], d)
		f.mu.Unlock()
		return
	}
	t := f.config.Tempo
	wait := shed.RetryAfter()
	if wait == 0 {
		wait = t.SampleRate // there are other probes then
	}
	d.Due = time.Now().Add(wait + rand.N(t.Retry))
	f.queue.Put(d)
}

// retry puts a delivery back that has failed, unless that was often enough.
func (f *Fleet) retry(d Delivery) {
	d.Attempts++
	if d.Attempts >= maxAttempts {
		f.meter.note(func(g *Figures) { g.GivenUp++ })
		return
	}
	d.Due = time.Now().Add(f.config.Tempo.Retry)
	f.queue.Put(d)
}
