package bucket

// meter is a valid limit without zeros, and what is worked out from it once.
type meter struct {
	capacity int64
	interval int64 // of a Continuous bucket: in which a token comes back
	burst    int64 // of a Continuous bucket: in which it is filled
	period   int64
	fixed    bool
}

// meterOf returns the meter of a limit, which must be valid.
func meterOf(l Limit) meter {
	l = l.WithDefaults()
	m := meter{capacity: l.Capacity, period: int64(l.Period), fixed: l.Algorithm == Fixed}
	if !m.fixed {
		m.interval = int64(l.interval())
		m.burst = m.capacity * m.interval
	}
	return m
}
