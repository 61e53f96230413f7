// Package tuned holds settings that code changes at run time and that an operator can override.
package tuned

import (
	"fmt"
	"sync/atomic"
)

// NumSources is the number of sources of settings: the code is 0, and each is above those before it.
const NumSources = 4

// Tuning are settings T that a patch P changes. With returns them after a patch, or an error if the
// result is invalid.
type Tuning[T, P any] interface{ With(P) (T, error) }

// Settings are the settings of one throttle, breaker, limiter, backoff or retrier. Load takes no lock
// and is as fast as an atomic pointer. Call Init before all other methods.
type Settings[T Tuning[T, P], P comparable] struct {
	state atomic.Pointer[State[T, P]]
}

// State is the settings at one instant. It never changes.
type State[T Tuning[T, P], P comparable] struct {
	Now  T // in force
	Code T // without the other sources
	over [NumSources]P
}

// With returns u with what the other sources set.
func (s *State[T, P]) With(u T) (T, error) {
	var none P
	for _, p := range s.over {
		if p == none {
			continue
		}
		var err error
		if u, err = u.With(p); err != nil {
			return u, err
		}
	}
	return u, nil
}

// Init stores the settings that New was called with.
func (s *Settings[T, P]) Init(code T) { s.state.Store(&State[T, P]{Now: code, Code: code}) }

// Load returns the settings in force. The caller must not change them.
func (s *Settings[T, P]) Load() *T { return &s.state.Load().Now }

// State returns the settings in force and those of the code.
func (s *Settings[T, P]) State() *State[T, P] { return s.state.Load() }

// Tune changes the settings of the code.
func (s *Settings[T, P]) Tune(p P) error {
	return s.replace(func(next *State[T, P]) (err error) {
		next.Code, err = next.Code.With(p)
		return err
	})
}

// Set replaces the settings of the code with valid ones.
func (s *Settings[T, P]) Set(code T) error {
	return s.replace(func(next *State[T, P]) error {
		next.Code = code
		return nil
	})
}

// Override replaces what a source sets. An empty patch ends it.
func (s *Settings[T, P]) Override(source int, p P) error {
	if source < 1 || source >= NumSources {
		return fmt.Errorf("throttle: Override: source is %d: want SourceApply, SourceFile or SourceHTTP", source)
	}
	return s.replace(func(next *State[T, P]) error {
		next.over[source] = p
		return nil
	})
}

// replace changes a copy of the state and stores it, until no other goroutine was faster.
func (s *Settings[T, P]) replace(change func(next *State[T, P]) error) error {
	for {
		before := s.state.Load()
		next := *before
		err := change(&next)
		if err == nil {
			next.Now, err = next.With(next.Code)
		}
		if err != nil {
			return err
		}
		if s.state.CompareAndSwap(before, &next) {
			return nil
		}
	}
}

// Set changes a setting to value, unless that is nil.
func Set[V any](setting, value *V) {
	if value != nil {
		*setting = *value
	}
}
