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
	"github.com/spillway-go/spillway/throttle/internal/remote"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Manager decides about the calls of one process, together with the other managers that share its
// store. Create it with [New]. If the store is shared, call [Manager.Run]. All methods are safe for
// concurrent use. A nil context means context.Background. Methods of a nil Manager return an error
// or a zero value.
type Manager struct {
	config   Config
	given    Config        // as passed to New
	owner    string        // name in leases
	guard    *remote.Guard // of the store
	tuning   tuned.Settings[Tuning, Patch]
	tally    *window.Window // counts calls, one row per state
	counters counters

	shards   [store.NumShards]atomic.Pointer[shard] // last known content of the store
	lastRead atomic.Pointer[storeReading]           // when shards was read
	revision atomic.Uint64                          // increases after each change of shards and of lastRead.stale
	table    atomic.Pointer[table]                  // decides about calls; built from the fields above

	refreshed atomic.Uint64               // number of refreshes
	lease     atomic.Pointer[store.Lease] // last known lease
	leading   atomic.Bool

	polling     atomic.Bool  // a poll is running, even if its timeout has passed
	notifying   atomic.Bool  // notifyOnce is running
	notifyCalls atomic.Int64 // running calls of Config.Notify, even if their timeout has passed
	prober      prober
	ends        sync.Pool     // of permits
	notifyWake  chan struct{} // wakes notifyLoop
	refreshWake chan struct{} // wakes refreshLoop

	memory  *MemoryStore // nil if the store is shared
	created time.Time
	lazy    lazyRounds
	running atomic.Bool
	open    context.Context // ends with Close
	end     context.CancelFunc
}

// New returns a manager, or an error that lists every invalid field with its allowed range. It does
// not read the store.
func New(c Config) (*Manager, error) {
	given := c
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	m := &Manager{
		config:      c,
		given:       given,
		owner:       newOwner(),
		tally:       window.New(window.Shape{Span: time.Second, Buckets: 1, Rows: numStates}),
		notifyWake:  make(chan struct{}, 1),
		refreshWake: make(chan struct{}, 1),
	}
	m.tuning.Init(Tuning{c.Mode})
	m.open, m.end = context.WithCancel(context.Background())
	m.guard = remote.NewGuard(remote.Rules{Timeout: c.StoreTimeout, Calls: maxStoreCalls, Failures: failuresToRest, Judge: m.judgeStore})
	m.memory, _ = c.Store.(*MemoryStore)
	m.created = time.Now()
	m.prober.wake = make(chan struct{}, 1)
	m.ends.New = func() any { return new(atomic.Uint64) }
	for i := range m.shards {
		m.shards[i].Store(&shard{index: i, records: map[Key]*record{}})
	}
	m.lastRead.Store(&storeReading{stale: c.OnStale == FailClosed})
	m.table.Store(&table{})
	m.publish()
	m.startLazy()
	if h := c.Hooks.Created; h != nil {
		h(m)
	}
	return m, nil
}

// valid reports whether m came from New.
func (m *Manager) valid() bool { return m != nil && m.tally != nil }

// Must returns m, or panics if err is not nil. Use it for managers that are created at program
// start.
func Must(m *Manager, err error) *Manager {
	if err != nil {
		panic(err)
	}
	return m
}

// newOwner returns a unique name for a manager, which shows host and process ID.
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

// Run reads changes from the store, campaigns for leadership and, as leader, polls, decides and
// notifies. It requests probes. It returns nil when ctx ends or the manager is closed, after it has
// resigned.
//
// On a shared store Run is required: without it, this manager opens no circuit and does not see
// those that others open, and [Stats].NotRunning is true. On a [MemoryStore] Run is optional: calls
// start a round in the background, at most one per SampleRate. With Run, rounds and refreshes are
// regular, and Hooks.Led is called.
//
// Run returns an error at once if another Run is active. It can be called again after it has
// returned.
func (m *Manager) Run(ctx context.Context) error {
	ctx, err := m.usable(ctx)
	if err != nil {
		return err
	}
	if m.running.Swap(true) {
		return errRunning
	}
	m.lazy.driven.Store(true)
	m.lazy.last.Store(0)
	defer m.stopRunning()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.open, cancel)()
	var all sync.WaitGroup
	for _, loop := range []func(context.Context){m.refreshLoop, m.leadLoop, m.probeLoop, m.notifyLoop, m.watchLoop} {
		all.Go(func() { loop(ctx) })
	}
	all.Wait()
	return nil
}

// stopRunning answers pending requests for probes. Later ones start their own goroutine.
func (m *Manager) stopRunning() {
	m.running.Store(false)
	m.lazy.wanted.Store(m.memory != nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	m.askForProbes(ended)
}

// Close ends an active Run and the manager's telemetry. Later calls are still decided, by the last
// known states, and counted: no circuit opens or closes any more. Run, Sample and methods that
// change a circuit return [ErrManagerClosed]. Close is idempotent. It does not close the store; do
// that after Run has returned.
func (m *Manager) Close() error {
	if !m.valid() || m.lazy.open.Swap(nil) == nil {
		return nil
	}
	m.end()
	if t := m.lazy.timer.Load(); t != nil {
		t.Stop()
	}
	if h := m.config.Hooks.Closed; h != nil {
		h(m)
	}
	return nil
}

// usable returns the context of a method that makes rounds or changes circuits, or its error.
func (m *Manager) usable(ctx context.Context) (context.Context, error) {
	switch {
	case !m.valid():
		return nil, errNil
	case m.closed():
		return nil, ErrManagerClosed
	}
	return orBackground(ctx), nil
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool { return wait(ctx, d, nil) }

// wait is sleep that also ends when it is woken.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// signal wakes the receiver of a channel with a buffer of one.
func signal(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
