package breaker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Manager keeps the circuits of one agent, together with the other agents of its store. Make it with [New], and let [Manager.Run] run. All
// methods are safe for concurrent use. A nil context is the background. A nil Manager knows of nothing, and answers calls with an error.
type Manager struct {
	config     Config
	given      Config // what New received
	tenantBase Config // what ForTenant gets: spans that follow from others are not filled in
	owner      string // in leases
	store      *guardedStore
	tally      *window.Window // of calls: a row for each state
	counters   counters

	shards   [store.NumShards]atomic.Pointer[shard] // what was read last
	lastRead atomic.Pointer[storeReading]           // when that was
	table    atomic.Pointer[table]                  // by which calls are decided

	refreshed atomic.Uint64               // times
	lease     atomic.Pointer[store.Lease] // as it was seen last
	leading   atomic.Bool

	polling      atomic.Bool  // also a poll that nobody waits for any more
	notifying    atomic.Int64 // notifications under way, also those that nobody waits for any more
	prober       prober
	calls        sync.Pool
	shedWrappers sync.Pool
	notifyWake   chan struct{} // there is something to notify
	refreshWake  chan struct{} // the store has told of a change

	memory  *MemoryStore // nil if the store is shared
	created time.Time
	lazy    lazyRounds
	running atomic.Bool
	closed  chan struct{}
	closing atomic.Bool
}

// New returns a manager, or an error that names every field that is wrong, and its range. It asks the store for nothing.
func New(c Config) (*Manager, error) {
	given := c
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	m := &Manager{
		config:      c,
		given:       given,
		tenantBase:  c.withSpansOf(given),
		owner:       newOwner(),
		tally:       window.New(window.Shape{Span: time.Second, Buckets: 1, Rows: NumStates}),
		notifyWake:  make(chan struct{}, 1),
		refreshWake: make(chan struct{}, 1),
		closed:      make(chan struct{}),
	}
	m.store = newGuardedStore(m, c.Store)
	m.memory, _ = c.Store.(*MemoryStore)
	m.created = time.Now()
	m.prober.wake = make(chan struct{}, 1)
	m.calls.New = func() any { return new(pooledCall) }
	m.shedWrappers.New = func() any { return new(besideShedError) }
	for i := range m.shards {
		m.shards[i].Store(&shard{index: i})
	}
	m.lastRead.Store(&storeReading{stale: c.OnStale == FailClosed})
	m.publish()
	m.startLazy()
	if h := c.Hooks.Created; h != nil {
		h(m)
	}
	return m, nil
}

// valid reports whether m came from New.
func (m *Manager) valid() bool { return m != nil && m.tally != nil }

// Must returns the manager, or panics with the error: for managers that are made when the program starts.
func Must(m *Manager, err error) *Manager {
	if err != nil {
		panic(err)
	}
	return m
}

// newOwner returns a name for a manager that no other one has, and that tells a person where it runs.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%016x", host, os.Getpid(), rand.Uint64())
}

// Name returns the manager's name.
func (m *Manager) Name() string {
	if !m.valid() {
		return ""
	}
	return m.config.Name
}

// Run keeps the agent up to date, polls and decides whenever it leads, asks for probes and notifies, until ctx ends or the manager
// is closed; then it resigns and returns nil. Nothing opens before Run runs: whoever forgets it has a breaker that lets every call through,
// and says so by [Stats].Running. It returns [ErrRunning] at once if another Run is under way. It can be called again.
func (m *Manager) Run(ctx context.Context) error {
	if !m.valid() {
		return errNil
	}
	ctx = orBackground(ctx)
	if m.isClosed() {
		return ErrManagerClosed
	}
	if m.running.Swap(true) {
		return ErrRunning
	}
	m.lazy.driven.Store(true)
	m.lazy.active.Store(false)
	defer m.stopRunning()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for _, loop := range []func(context.Context){m.refreshLoop, m.leadLoop, m.probeLoop, m.notifyLoop, m.watchLoop} {
		all.Go(func() { loop(ctx) })
	}
	select {
	case <-ctx.Done():
	case <-m.closed:
	}
	cancel()
	all.Wait()
	return nil
}

// stopRunning answers those who wait for probes: from now on somebody else asks for them.
func (m *Manager) stopRunning() {
	m.running.Store(false)
	m.lazy.wanted.Store(m.memory != nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	m.requestProbes(ended)
}

// Close ends a Run that is under way, and the manager's telemetry. Calls are decided as before, by what was known last. It is
// idempotent. The store is the caller's to close, when Run has returned.
func (m *Manager) Close() error {
	if !m.valid() || m.closing.Swap(true) {
		return nil
	}
	close(m.closed)
	m.endLazy()
	if h := m.config.Hooks.Closed; h != nil {
		h(m)
	}
	return nil
}

func (m *Manager) isClosed() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// orBackground returns a context to go on with: a nil one is the background.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// pause waits, and reports whether it was for so long: not if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hint leaves a signal, unless there is one already.
func signal(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
