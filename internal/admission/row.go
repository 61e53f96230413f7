package main

import "time"

// row is a line of the table of issue 37: a server, a load and what is required of our protection.
type row struct {
	name     string
	shape    shape
	subjects []string
	bounds   []bound

	rate    float64                        // times the capacity, for a steady load
	phases  func(capacity float64) []phase // for any other load
	warm    time.Duration                  // of a load; not measured
	length  time.Duration                  // measured
	clients int                            // HTTP clients of ours, each with a throttle of its own; 0: one bare client
	listens bool                           // these clients read load reports

	tenants   bool    // see crowd
	highShare float64 // of the requests of tenants

	rateOfAll bool // the rate is a multiple of what the server could serve if it were alone, not of what remains
	goodOfAll bool // good answers are a share of that, too
}

func (r row) load(capacity float64) []phase {
	if r.phases != nil {
		return r.phases(capacity)
	}
	return []phase{{length: r.warm + r.length, rate: r.rate * capacity}}
}

// withLength returns the row with another measured time, if its load is steady.
func (r row) withLength(length time.Duration) row {
	if length > 0 && r.phases == nil {
		r.length = length
	}
	return r
}
