package throttletest

// BackendStats counts the calls that reached a backend, by how they ended.
type BackendStats struct {
	Served   uint64 // answered with nil
	Failed   uint64 // answered with the error of Fail
	Rejected uint64 // on top of the capacity, or during an outage
	Canceled uint64 // taken on, and given up by the caller before they were answered
	Active   uint64 // taken on, and not ended yet

	_ struct{} // keyed literals only
}

// Calls returns the number of calls in all.
func (s BackendStats) Calls() uint64 {
	return s.Served + s.Failed + s.Rejected + s.Canceled + s.Active
}

// Stats returns the counts, all of the same instant.
func (b *Backend) Stats() BackendStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// Served returns the number of calls served so far.
func (b *Backend) Served() uint64 { return b.Stats().Served }

// Rejected returns the number of calls rejected so far.
func (b *Backend) Rejected() uint64 { return b.Stats().Rejected }
