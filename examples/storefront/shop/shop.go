package shop

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spillway-go/spillway/throttle"
)

// Name is the name of the throttle, after the backend behind it.
const Name = "shop-backend"

// Config says what a shop begins with.
type Config struct {
	Settings Settings
	Hooks    throttle.Hooks // of the throttle; Created and Closed are told during a change, and must not call Change
	Tracer   trace.Tracer   // of the visitors' requests; nil for none
}

// Shop is a shop with visitors. Make one with [New]; all methods are safe for concurrent use.
type Shop struct {
	hooks    throttle.Hooks
	tracer   trace.Tracer
	backend  *backend
	twin     *backend
	changing sync.Mutex // one change at a time
	settings atomic.Pointer[Settings]
	throttle atomic.Pointer[throttle.Throttle]
	counts   [throttle.StandardPriorities]counts
	visits   sync.WaitGroup
}

// counts are of one kind of call.
type counts struct {
	offered, served, rejected, shed, cached atomic.Uint64
}

// New returns a shop without visitors: they come with [Shop.Run]. Its error names what is out of range.
func New(c Config) (*Shop, error) {
	if err := c.Settings.Validate(); err != nil {
		return nil, err
	}
	s := &Shop{hooks: c.Hooks, tracer: c.Tracer, backend: newBackend(c.Settings.Available()), twin: newBackend(c.Settings.Available())}
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

// newThrottle makes a throttle as the settings want it.
func (s *Shop) newThrottle(now Settings) (*throttle.Throttle, error) {
	return throttle.New(throttle.Config{
		Name:            Name,
		Policy:          now.Policy,
		Window:          window(now.Policy),
		TargetRejection: 0.2, // the default protects checkouts better, and leaves more of this backend's capacity unused
		MinimumRate:     10,  // a few percent of what the backend can do: with the default of 1 its recovery is noticed later
		Mode:            mode(now.Throttled),
		Hooks:           s.hooks,
	})
}

// window is shorter than the default: people who watch do not want to wait for what they have come to see, and there are
// enough calls for it.
func window(p throttle.Policy) time.Duration {
	if p == throttle.SRE {
		return 15 * time.Second
	}
	return 5 * time.Second
}

func mode(on bool) throttle.Mode {
	if on {
		return throttle.ModeEnforce
	}
	return throttle.ModeOff
}

// Throttle returns the throttle that stands before the backend now.
func (s *Shop) Throttle() *throttle.Throttle { return s.throttle.Load() }

// Settings returns the settings of now.
func (s *Shop) Settings() Settings { return *s.settings.Load() }

// Change changes the settings, all at once or, if the outcome is out of range, not at all. It returns those that hold then. Calls go on
// meanwhile.
func (s *Shop) Change(change func(*Settings)) (Settings, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.Settings()
	after := before
	change(&after)
	if err := after.Validate(); err != nil {
		return before, err
	}
	if err := s.refit(before, after); err != nil {
		return before, err
	}
	if capacity := after.Available(); capacity != before.Available() {
		s.backend.change(capacity)
		s.twin.change(capacity)
	}
	s.settings.Store(&after)
	return after, nil
}

// refit gives the backend a throttle as the settings want it. Another mode is a matter of Tune. Another policy takes another
// throttle, of the same name; calls that are under way end with the old one.
func (s *Shop) refit(before, after Settings) error {
	if after.Policy != before.Policy {
		th, err := s.newThrottle(after)
		if err != nil {
			return err
		}
		return s.throttle.Swap(th).Close()
	}
	if after.Throttled != before.Throttled {
		return s.Throttle().Tune(func(t *throttle.Tuning) { t.Mode = mode(after.Throttled) })
	}
	return nil
}

// Close closes the throttle. Calls would still work.
func (s *Shop) Close() error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.Throttle().Close()
}
