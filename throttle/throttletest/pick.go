package throttletest

import "github.com/spillway-go/spillway/throttle"

// Created returns the throttles made, of the events kept.
func (r *Recorder) Created() []*throttle.Throttle {
	return pick(r, KindCreated, func(e *Event) *throttle.Throttle { return e.Throttle })
}

// Closed returns the throttles closed, of the events kept.
func (r *Recorder) Closed() []*throttle.Throttle {
	return pick(r, KindClosed, func(e *Event) *throttle.Throttle { return e.Throttle })
}

// Shed returns the calls shed, of the events kept. Those that a throttle in Shadow let through are among them, marked so.
func (r *Recorder) Shed() []throttle.ShedEvent {
	return pick(r, KindShed, func(e *Event) throttle.ShedEvent { return e.Shed })
}

// Started returns the calls admitted, of the events kept.
func (r *Recorder) Started() []throttle.StartEvent {
	return pick(r, KindStarted, func(e *Event) throttle.StartEvent { return e.Started })
}

// Finished returns the ends of admitted calls, of the events kept.
func (r *Recorder) Finished() []throttle.FinishEvent {
	return pick(r, KindFinished, func(e *Event) throttle.FinishEvent { return e.Finished })
}

// FellBack returns the fallbacks that ran, of the events kept.
func (r *Recorder) FellBack() []throttle.FallbackEvent {
	return pick(r, KindFellBack, func(e *Event) throttle.FallbackEvent { return e.FellBack })
}

// pick returns what the events of one kind hold.
func pick[T any](r *Recorder, k Kind, of func(*Event) T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var picked []T
	for i := range r.events {
		if r.events[i].Kind == k {
			picked = append(picked, of(&r.events[i]))
		}
	}
	return picked
}
