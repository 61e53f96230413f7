package main

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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
