package main

import "time"

// run is a row with one subject, and what came of its load.
type run struct {
	row       row
	subject   string
	records   []record
	capacity  float64 // good answers per second are a share of it
	none      *run    // the same row without protection, or nil
	strangers float64 // percentage of the server's processors that other processes used
	log       string  // what the server wrote to stderr
}

// measured returns the records of the time that counts.
func (r *run) measured() []record { return between(r.records, r.row.warm, r.row.warm+r.row.length) }

// goodShare returns the good answers per second, in percent of the capacity.
func (r *run) goodShare() float64 {
	return 100 * float64(count(r.measured())[good]) / r.row.length.Seconds() / r.capacity
}

// latency returns the percentile q of the good answers.
func (r *run) latency(q float64) time.Duration {
	var latencies []time.Duration
	for _, rec := range r.measured() {
		if rec.outcome == good {
			latencies = append(latencies, rec.latency)
		}
	}
	return percentile(latencies, q)
}

// lag returns the percentile 99 of how much too late the load sent its requests.
func (r *run) lag() time.Duration {
	var lags []time.Duration
	for _, rec := range r.measured() {
		lags = append(lags, rec.lag)
	}
	return percentile(lags, 0.99)
}

// second returns the records of a second of the load, from 0 on.
func (r *run) second(i int) []record {
	from := time.Duration(i) * time.Second
	return between(r.records, from, from+time.Second)
}

func (r *run) seconds() int {
	if len(r.records) == 0 {
		return 0
	}
	return int(r.records[len(r.records)-1].at/time.Second) + 1
}

// servedIn returns the good answers to the requests of a second, in percent of what the server could have
// given: the capacity, or all requests if they are fewer.
func (r *run) servedIn(i int) float64 {
	t := count(r.second(i))
	return 100 * float64(t[good]) / min(r.capacity, float64(t.offered()))
}

// shedOfBursts returns the percentage of the requests of bursts that were shed.
func (r *run) shedOfBursts() float64 {
	var bursts []record
	for _, rec := range r.records {
		if rec.burst {
			bursts = append(bursts, rec)
		}
	}
	return count(bursts).shedShare()
}
