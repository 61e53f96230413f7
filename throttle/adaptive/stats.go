package adaptive

// Stats is what a throttler knows of itself at one instant.
type Stats struct {
	_           struct{} // keyed literals only: fields will be added
	Probability float64  // of throttling the next call: RejectionProbability
	Window      Counts   // within the last Duration
	Total       Counts   // since New; these never fall
}

// Counts are numbers of calls. A call under way is not among them yet.
type Counts struct {
	Accepted uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // given up on the throttler's advice, never sent
}

// Requests returns the number of calls in all, as the formula counts them.
func (c Counts) Requests() uint64 {
	return c.Accepted + c.refused()
}

// refused returns the number of calls that nobody served.
func (c Counts) refused() uint64 {
	return c.Rejected + c.Shed
}

// Stats returns what the throttler knows of itself now. It is exact: a call is in it as soon as it has been registered.
func (t *Throttler) Stats() Stats {
	if t == nil || t.window == nil {
		return Stats{}
	}
	t.keepUp(t.elapsed())
	recent, ever := t.sum()
	return Stats{Probability: t.probabilityOf(recent), Window: recent, Total: ever}
}
