package overload

import (
	"math/rand/v2"
	"slices"
	"time"
)

// retries are the attempts of all clients that are to come.
type retries struct {
	rules  []retrier // of the clients; nil if they do not retry
	random *rand.Rand
	due    []dueRetry // by time
	ending offer      // whose attempt ends; here so that it is not allocated
}

// dueRetry is another attempt of a call.
type dueRetry struct {
	at    time.Duration
	offer offer
}

// newRetries makes the retriers of n clients.
func newRetries(rule string, n int, e Env, random *rand.Rand) (retries, error) {
	r := retries{random: random}
	e.Rand = random.Float64
	made, err := ruleOf(rule)
	if err != nil || made.new == nil {
		return r, err
	}
	r.rules = make([]retrier, n)
	for i := range r.rules {
		if r.rules[i], err = made.new(e); err != nil {
			return r, err
		}
	}
	return r, nil
}

// ended decides whether a call is made again, after an attempt that ended with err.
func (r *retries) ended(o offer, err error, now time.Duration) {
	if r.rules == nil {
		return
	}
	r.ending = o
	delay, ok := r.rules[o.client].again(&r.ending, err)
	if !ok {
		return
	}
	r.ending.attempt++
	at := now + delay
	i := len(r.due)
	for i > 0 && r.due[i-1].at > at {
		i--
	}
	r.due = slices.Insert(r.due, i, dueRetry{at, r.ending})
}

// next removes the next attempt that is due until a time.
func (r *retries) next(until time.Duration) (dueRetry, bool) {
	if len(r.due) == 0 || r.due[0].at > until {
		return dueRetry{}, false
	}
	d := r.due[0]
	r.due = r.due[1:]
	return d, true
}
