package throttletest

import (
	"context"
	"slices"
	"sync"

	"github.com/spillway-go/spillway/throttle"
)

// Recorder keeps what throttles tell, in the order in which it is told, for a test to look at. The zero Recorder is ready for
// use; all methods are safe for concurrent use. One recorder may listen to several throttles.
type Recorder struct {
	// Limit is how many events are kept, for tests with very many calls. Later ones are counted, but not kept. Zero keeps
	// all, a negative number none. Set it before the recorder is used.
	Limit int

	mu     sync.Mutex // never held while anything else is called
	events []Event
	counts [NumKinds]int
}

// NewRecorder returns a recorder that keeps every event.
func NewRecorder() *Recorder {
	return &Recorder{}
}

// Hooks returns hooks that record every moment. Join them with others by throttle.JoinHooks.
func (r *Recorder) Hooks() throttle.Hooks {
	return throttle.Hooks{
		Created: func(t *throttle.Throttle) { r.record(Event{Kind: KindCreated, Throttle: t}) },
		Closed:  func(t *throttle.Throttle) { r.record(Event{Kind: KindClosed, Throttle: t}) },
		Shed: func(_ context.Context, e throttle.ShedEvent) {
			r.record(Event{Kind: KindShed, Throttle: e.Throttle, Shed: e})
		},
		Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
			r.record(Event{Kind: KindStarted, Throttle: e.Throttle, Started: e})
			return ctx
		},
		Finished: func(_ context.Context, e throttle.FinishEvent) {
			r.record(Event{Kind: KindFinished, Throttle: e.Throttle, Finished: e})
		},
		FellBack: func(_ context.Context, e throttle.FallbackEvent) {
			r.record(Event{Kind: KindFellBack, Throttle: e.Throttle, FellBack: e})
		},
	}
}

// Events returns a copy of the events kept, oldest first.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Count returns how many events of a kind were told, those beyond the Limit included.
func (r *Recorder) Count(k Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int(k) >= len(r.counts) {
		return 0
	}
	return r.counts[k]
}

// Reset forgets all events and counts, as if nothing had been told yet.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.counts = nil, [NumKinds]int{}
}

// record counts e, and keeps it within the Limit.
func (r *Recorder) record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[e.Kind]++
	if r.Limit == 0 || len(r.events) < r.Limit {
		r.events = append(r.events, e)
	}
}
