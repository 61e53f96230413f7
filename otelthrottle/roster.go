package otelthrottle

import (
	"slices"
	"sync"
)

// kind is how things of one kind are told of: M is one of them, S what it shows by itself at one instant, R what all of one name show
// together, L the attributes with which that is told.
type kind[M comparable, S, R, L any] struct {
	noun   string
	name   func(M) string
	labels func(name string) L
	look   func(M) S
	busy   func(*S) bool                     // there are calls in flight, which it will count when they end
	add    func(sum R, s *S, present bool) R // adds the counters, and what is true now only of what is open
	clone  func(R) R
}

// roster is all things of one kind that are told of, by their names.
type roster[M comparable, S, R, L any] struct {
	kind    kind[M, S, R, L]
	members sync.Map // M to *source, while it is open

	mu      sync.Mutex
	sources map[string]*source[M, S, R, L]
	order   []*source[M, S, R, L] // as they came
}

func newRoster[M comparable, S, R, L any](k kind[M, S, R, L]) *roster[M, S, R, L] {
	return &roster[M, S, R, L]{kind: k, sources: map[string]*source[M, S, R, L]{}}
}

// join makes something a member of the source of its name, once: hooks that are joined with others of the same Telemetry tell of it again.
func (r *roster[M, S, R, L]) join(m M) {
	name := labelName(r.kind.name(m))
	r.mu.Lock()
	s, ok := r.sources[name]
	if !ok {
		s = &source[M, S, R, L]{kind: &r.kind, name: name, labels: r.kind.labels(name)}
		r.sources[name] = s
		r.order = append(r.order, s)
	}
	r.mu.Unlock()
	if _, known := r.members.LoadOrStore(m, s); !known {
		s.enter(m)
	}
}

// leave takes what is closed out of its source. What never joined, or has left, is passed over.
func (r *roster[M, S, R, L]) leave(m M) {
	if s, ok := r.members.LoadAndDelete(m); ok {
		s.(*source[M, S, R, L]).leave(m)
	}
}

// of returns the source of a member. One that is closed already, or never joined, is looked up by its name, which may be unknown.
func (r *roster[M, S, R, L]) of(m M) *source[M, S, R, L] {
	if s, ok := r.members.Load(m); ok {
		return s.(*source[M, S, R, L])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sources[labelName(r.kind.name(m))]
}

// all returns the sources, as they came.
func (r *roster[M, S, R, L]) all() []*source[M, S, R, L] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}
