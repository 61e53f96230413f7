package throttle

// finish ends the attempt and calls the Finished hook with the error that the caller gets.
func (a *attempt) finish(err error) {
	a.stage = ended
	if a.observed {
		a.callFinishedHook(err)
	}
}

// callFinishedHook calls the Finished hook. A shed call has none.
func (a *attempt) callFinishedHook(err error) {
	h := a.throttle.hooks.Finished
	if h == nil || a.outcome == Shed {
		return
	}
	h(a.ctx, FinishEvent{
		Throttle: a.throttle, Priority: a.priority, Outcome: a.outcome, Fault: a.fault,
		Err: err, Duration: a.duration, FellBack: a.fellBack, Shadow: a.shadow, Overloaded: (a.full || a.booked) && a.outcome == Rejected,
	})
}

// endAbandoned ends an attempt whose function, fallback or hook panicked or called runtime.Goexit.
// It does nothing if the attempt has ended.
func (a *attempt) endAbandoned() {
	if a.stage != ended {
		a.recordPanic()
	}
}

func (a *attempt) recordPanic() {
	defer a.finish(ErrPanicked)
	switch a.stage {
	case running:
		a.record(Ignored, FaultPanic, a.throttle.elapsed())
	case inFallback:
		_ = a.endFallback(ErrPanicked) // it returns its argument
	}
}
