// Package shop has the parts of the storefront that do not depend on its pages: visitors with four
// kinds of calls, a backend, the throttle in front of it, and a second backend, the twin, which
// gets the same calls without a throttle.
//
//	s, err := shop.New(shop.Config{Settings: shop.Calm()})
//	...
//	go s.Run(ctx) // makes calls until ctx ends
//	_, err = s.Change(func(now *shop.Settings) { now.Load = 4 })
//
// The files visit.go and shop.go show how a program uses the library. The package also runs in a
// bubble of testing/synctest.
package shop

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spillway-go/spillway/throttle"
)

// Name is the name of the throttle. A throttle is named after its backend: the metrics have it as
// the attribute throttle.name.
const Name = "shop-backend"

// Config configures a Shop.
type Config struct {
	Settings Settings
	Hooks    throttle.Hooks // of the throttle; Created and Closed are called during Change, and must not call it
	Tracer   trace.Tracer   // for the visitors' requests; nil for no spans
}

// Shop is a shop with visitors. Use [New]. All methods are safe for concurrent use.
type Shop struct {
	hooks    throttle.Hooks
	tracer   trace.Tracer
	backend  *backend
	twin     *backend   // gets the same calls without a throttle
	changing sync.Mutex // serializes changes
	settings atomic.Pointer[Settings]
	throttle atomic.Pointer[throttle.Throttle]
	counting sync.Mutex
	kinds    [throttle.StandardPriorities]KindTotals
	visits   sync.WaitGroup
}

// New returns a shop without calls; [Shop.Run] makes them. Its error names each setting that is out
// of range.
func New(c Config) (*Shop, error) {
	if err := c.Settings.Validate(); err != nil {
		return nil, err
	}
	s := &Shop{hooks: c.Hooks, tracer: c.Tracer, backend: newBackend(c.Settings), twin: newBackend(c.Settings)}
	if s.tracer == nil {
		s.tracer = noop.NewTracerProvider().Tracer("")
	}
	th, err := s.newThrottle(c.Settings)
	if err != nil {
		return nil, err
	}
	s.throttle.Store(th)
	s.settings.Store(&c.Settings)
	return s, nil
}

// newThrottle makes a throttle with the settings. Most programs only need Name and Policy. The
// other fields suit this demonstration: a small backend, few clients and impatient visitors.
func (s *Shop) newThrottle(now Settings) (*throttle.Throttle, error) {
	return throttle.New(throttle.Config{
		Name: Name,

		// Tiered, the default here, protects High best from a backend that ignores priorities. SRE
		// sheds less if the backend also rejects calls for reasons other than overload.
		Policy: now.Policy,

		// The default of 0.1 protects checkouts better. It also leaves more capacity of this
		// backend unused, because a rejection costs it a fifth of a served call.
		TargetRejection: 0.2,

		// These calls per second are always sent, so that the throttle notices a recovery. 10 is
		// 2.5 % of the capacity. With the default of 1 it notices a recovery later.
		MinimumRate: 10,

		// A call takes 10 ms at most while the backend is well. With this, the throttle notices a
		// backend that is slow but rejects nothing, long before callers give up.
		Slow: slow,

		Window: window(now.Policy),
		Mode:   mode(now.Throttled),
		Hooks:  s.hooks,
	})
}

// slow is a third of callTimeout, and far above what a call of the healthy backend takes. The distance is
// for pauses of the machine, which runs everything here.
const slow = 150 * time.Millisecond

// window returns a shorter window than the default, so that the page shows changes sooner. A short
// window needs many calls, which this shop has.
func window(p throttle.Policy) time.Duration {
	if p == throttle.SRE {
		return 15 * time.Second
	}
	return 5 * time.Second
}

func mode(on Switch) throttle.Mode {
	if on {
		return throttle.ModeEnforce
	}
	return throttle.ModeOff
}

// Throttle returns the current throttle of the backend.
func (s *Shop) Throttle() *throttle.Throttle { return s.throttle.Load() }

// Settings returns the current settings.
func (s *Shop) Settings() Settings { return *s.settings.Load() }

// Change changes the settings, and returns the new ones. If a new setting is out of range, Change
// returns an error and changes nothing. Calls in flight are not affected.
func (s *Shop) Change(change func(*Settings)) (Settings, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.Settings()
	after := before
	change(&after)
	if err := after.Validate(); err != nil {
		return before, err
	}
	if err := s.changeThrottle(before, after); err != nil {
		return before, err
	}
	s.backend.change(after)
	s.twin.change(after)
	s.settings.Store(&after)
	return after, nil
}

// changeThrottle applies the settings to the throttle. Tune changes the mode of a throttle while it
// is used. The policy of a throttle is fixed, so another policy needs a new throttle. It has the
// same name, and metrics report both as one. Calls in flight end with the old throttle.
func (s *Shop) changeThrottle(before, after Settings) error {
	if after.Policy != before.Policy {
		th, err := s.newThrottle(after)
		if err != nil {
			return err
		}
		return s.throttle.Swap(th).Close()
	}
	if after.Throttled != before.Throttled {
		return s.Throttle().Tune(throttle.Patch{Mode: new(mode(after.Throttled))})
	}
	return nil
}

// Close closes the throttle, so that metrics no longer report it. Later calls still work.
func (s *Shop) Close() error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.Throttle().Close()
}
