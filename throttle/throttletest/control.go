package throttletest

import "time"

// SetCapacity changes the calls per second that are served; 0 is no limit. A value out of range is an error, and changes nothing.
// For a backend that serves nobody see [Backend.SetOutage].
func (b *Backend) SetCapacity(perSecond float64) error {
	if err := checkCapacity("capacity", perSecond); err != nil {
		return err
	}
	now := b.elapsed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget.resize(now, perSecond)
	return nil
}

// SetLatency changes how long a served call takes. A negative one is an error, and changes nothing.
func (b *Backend) SetLatency(d time.Duration) error {
	if err := checkLatency("latency", d); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latency = d
	return nil
}

// SetOutage begins or ends an outage, in which every call is rejected at once.
func (b *Backend) SetOutage(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outage = down
}

// Outage reports whether there is an outage.
func (b *Backend) Outage() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outage
}

// Fail has the backend answer with err what it would have served. The work is done all the same: capacity and
// latency apply. Nil ends it.
func (b *Backend) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
}
