package throttletest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spillway-go/spillway/throttle"
)

// Kind is the kind of an [Event]. There is one for each field of throttle.Hooks but Announced, which is
// called before there is a throttle.
type Kind uint8

const (
	// KindCreated is the creation of a throttle.
	KindCreated Kind = iota
	// KindClosed is the end of a throttle.
	KindClosed
	// KindShed is a call that was shed, or that a throttle in ModeShadow would have shed.
	KindShed
	// KindStarted is a call that was admitted.
	KindStarted
	// KindFinished is the end of an admitted call.
	KindFinished
	// KindFellBack is the end of a fallback.
	KindFellBack
	// KindPolicyChanged is the begin or the end of an alert of the policy Tiered.
	KindPolicyChanged
)

const kinds = KindPolicyChanged + 1 // how many there are

// String returns the kind's word: "created", "closed", "shed", "started", "finished", "fell back"
// or "policy changed".
func (k Kind) String() string {
	words := [kinds]string{"created", "closed", "shed", "started", "finished", "fell back", "policy changed"}
	if int(k) < len(words) {
		return words[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Event is one call of a hook. Kind selects which of the fields Shed, Started, Finished, FellBack
// and PolicyChanged is set. For KindCreated and KindClosed none of them is.
type Event struct {
	Kind     Kind
	Throttle *throttle.Throttle
	Shed     throttle.ShedEvent
	Started  throttle.StartEvent
	Finished throttle.FinishEvent
	FellBack throttle.FallbackEvent

	PolicyChanged throttle.PolicyEvent
}

// Recorder records the events of throttles, in their order. The zero Recorder is ready for use. All
// methods are safe for concurrent use. Several throttles may share a recorder.
type Recorder struct {
	// Limit is the number of events to keep, for tests with many calls. Later events are counted,
	// but not kept. Zero keeps all events, a negative Limit keeps none. Set it before the first
	// event.
	Limit int

	mu     sync.Mutex // not held during calls of other packages
	events []Event
	counts [kinds]int
}

// NewRecorder returns a recorder that keeps every event.
func NewRecorder() *Recorder {
	return &Recorder{}
}

// Hooks returns hooks that record every event of a throttle. Join them with other hooks by throttle.JoinHooks.
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
		PolicyChanged: func(_ context.Context, e throttle.PolicyEvent) {
			r.record(Event{Kind: KindPolicyChanged, Throttle: e.Throttle, PolicyChanged: e})
		},
	}
}

// Events returns a copy of the recorded events, oldest first.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Count returns the number of events of a kind, including those beyond the Limit.
func (r *Recorder) Count(k Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int(k) >= len(r.counts) {
		return 0
	}
	return r.counts[k]
}

// Reset removes all events, and sets all counts to 0.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.counts = nil, [kinds]int{}
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

// Shed returns the recorded calls that were shed. It includes the calls that a throttle in
// ModeShadow would have shed: their field Shadow is true.
func (r *Recorder) Shed() []throttle.ShedEvent {
	return ofKind(r, KindShed, func(e *Event) throttle.ShedEvent { return e.Shed })
}

// Started returns the recorded calls that were admitted.
func (r *Recorder) Started() []throttle.StartEvent {
	return ofKind(r, KindStarted, func(e *Event) throttle.StartEvent { return e.Started })
}

// Finished returns the recorded ends of admitted calls.
func (r *Recorder) Finished() []throttle.FinishEvent {
	return ofKind(r, KindFinished, func(e *Event) throttle.FinishEvent { return e.Finished })
}

// ofKind returns the field of every recorded event of kind k.
func ofKind[T any](r *Recorder, k Kind, field func(*Event) T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []T
	for i := range r.events {
		if r.events[i].Kind == k {
			found = append(found, field(&r.events[i]))
		}
	}
	return found
}
