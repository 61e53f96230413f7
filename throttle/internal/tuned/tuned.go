// Package tuned holds settings that code changes at run time and that an operator can override.
package tuned

import (
	"errors"
	"sync/atomic"
)

// Settings are the settings of one throttle, breaker, limiter or backoff. Load takes no lock and is
// as fast as an atomic pointer. Call Init before all other methods.
type Settings[T any] struct {
	check func(*T) error
	state atomic.Pointer[State[T]]
}

// State is the settings at one instant. It never changes.
type State[T any] struct {
	Now  T // in force
	Code T // without the override
	over func(*T)
}

// Apply applies the override to u.
func (s *State[T]) Apply(u *T) {
	if s.over != nil {
		s.over(u)
	}
}

// Init stores the settings that New was called with. Check returns an error for invalid settings.
// It may complete valid ones.
func (s *Settings[T]) Init(code T, check func(*T) error) {
	s.check = check
	s.state.Store(&State[T]{Now: code, Code: code})
}

// Load returns the settings in force. The caller must not change them.
func (s *Settings[T]) Load() *T { return &s.state.Load().Now }

// State returns the settings in force and those of the code.
func (s *Settings[T]) State() *State[T] { return s.state.Load() }

// Tune changes the settings of the code. It may call change more than once.
func (s *Settings[T]) Tune(change func(*T)) error {
	return s.replace(func(before *State[T]) (*State[T], error) { return s.next(before.Code, change, before.over) })
}

// Override replaces the override. Over is applied to the settings of the code now and after each
// Tune; nil ends the override. Over may read what it applies from a variable: if the variable is
// stored before each Override, the last value wins, whatever the order of concurrent calls.
func (s *Settings[T]) Override(over func(*T)) error {
	return s.replace(func(before *State[T]) (*State[T], error) { return s.next(before.Code, nil, over) })
}

// Check returns the error of Tune for change and of Override for over, and changes nothing.
func (s *Settings[T]) Check(change, over func(*T)) error {
	_, err := s.next(s.state.Load().Code, change, over)
	return err
}

// replace computes the next state from the one before, until no other goroutine was faster.
func (s *Settings[T]) replace(next func(before *State[T]) (*State[T], error)) error {
	for {
		before := s.state.Load()
		after, err := next(before)
		if err != nil {
			return err
		}
		if s.state.CompareAndSwap(before, after) {
			return nil
		}
	}
}

// next returns the state after a change of the code's settings.
func (s *Settings[T]) next(code T, change, over func(*T)) (*State[T], error) {
	code, err := s.changed(code, change)
	now, overErr := s.changed(code, over)
	if err = errors.Join(err, overErr); err != nil {
		return nil, err
	}
	return &State[T]{Now: now, Code: code, over: over}, nil
}

// changed returns valid settings after change. A change that keeps the pointer cannot change them
// later.
func (s *Settings[T]) changed(u T, change func(*T)) (T, error) {
	if change == nil {
		return u, nil
	}
	proposed := u
	change(&proposed)
	after := proposed
	err := s.check(&after)
	return after, err
}
