package main

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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

// outcome is how a request ended for its caller.
type outcome int

const (
	good   outcome = iota // answered in time
	shed                  // refused by the server: 503, 429 or Unavailable
	held                  // shed by the throttle of the client: not sent
	late                  // the patience of the caller was over
	failed                // anything else
	outcomes
)

type record struct {
	arrival
	outcome outcome
	latency time.Duration // from sending to the end of the answer
	lag     time.Duration // from the scheduled arrival to sending
}

type tally [outcomes]int

// between returns the records of the requests that arrived from from on and before to.
func between(records []record, from, to time.Duration) []record {
	first := func(at time.Duration) int {
		i, _ := slices.BinarySearchFunc(records, at, func(r record, at time.Duration) int { return int(r.at - at) })
		return i
	}
	return records[first(from):first(to)]
}

// count counts the records of some priorities, or of all if none is given.
func count(records []record, of ...throttle.Priority) (t tally) {
	for _, r := range records {
		if len(of) == 0 || slices.Contains(of, r.priority) {
			t[r.outcome]++
		}
	}
	return t
}

func (t tally) offered() int { return t[good] + t[shed] + t[held] + t[late] + t[failed] }

// success returns the percentage of the requests that were answered in time.
func (t tally) success() float64 { return percent(t[good], t.offered()) }

// shedShare returns the percentage of the requests that were shed, by the server or by the client.
func (t tally) shedShare() float64 { return percent(t[shed]+t[held], t.offered()) }

// percent returns NaN if there is nothing to divide by.
func percent(part, whole int) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return 100 * float64(part) / float64(whole)
}

// percentile returns the smallest duration that at least the share q of the durations do not exceed,
// or 0 if there are none.
func percentile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}
