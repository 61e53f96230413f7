package backoff

import "time"

// tally counts, with the lock held.
type tally struct {
	ups, downs                    uint64
	successes, throttled, ignored uint64
	slept, canceled               uint64
	sleepTime                     time.Duration
	sleeping                      int
	invocations                   uint64 // of SleepOnFailure and SleepOnSuccess
}

// count counts an outcome.
func (t *tally) count(o Outcome) {
	switch {
	case o == Success:
		t.successes++
	case o.IsThrottled():
		t.throttled++
	default:
		t.ignored++
	}
}

// Stats is what a [Responsive] has done since it was made.
type Stats struct {
	Name       string
	Mode       Mode
	Delay      time.Duration
	Ups        uint64 // steps
	Downs      uint64
	Successes  uint64 // calls
	Throttled  uint64
	Ignored    uint64
	Slept      uint64 // waits that were not over at once
	Canceled   uint64 // waits whose context ended, or that Close ended
	SleepTime  time.Duration
	Waiting    int    // for their turn, or that sleep, at present
	Generation uint64 // of the delay: it grows with each step up
}

// Stats returns what it has done.
func (r *Responsive) Stats() Stats {
	if !r.made() {
		return Stats{}
	}
	r.forgotten(time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats()
}

// stats is Stats with the lock held.
func (r *Responsive) stats() Stats {
	t := &r.tally
	return Stats{
		Name: r.config.Name, Mode: r.config.Mode, Delay: r.dial.interval,
		Ups: t.ups, Downs: t.downs,
		Successes: t.successes, Throttled: t.throttled, Ignored: t.ignored,
		Slept: t.slept, Canceled: t.canceled, SleepTime: t.sleepTime, Waiting: t.sleeping,
		Generation: r.dial.generation,
	}
}
