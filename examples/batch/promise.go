package main

import (
	"fmt"

	"github.com/spillway-go/spillway/examples/internal/promise"
)

// What is promised of every act with a backoff, once it has had the time to find the rate. In a simulation it is 97 % and 1 %, as the tests of
// throttle/backoff show. These run by the wall clock, on a machine that has other things to do: what comes late there is capacity that is lost, and
// what comes late all at once is throttled.
const (
	leastUsed     = 0.90
	mostThrottled = 0.05
)

// judge judges an act with a backoff.
func judge(p *promise.Promises, act string, was stretch) {
	p.Add(act+": of the capacity used", fmt.Sprintf("at least %.0f %%", 100*leastUsed), fmt.Sprintf("%.1f %%", 100*was.used()),
		promise.Judge(was.used() >= leastUsed))
	p.Add(act+": of the calls throttled", fmt.Sprintf("at most %.0f %%", 100*mostThrottled), fmt.Sprintf("%.1f %%", 100*was.throttledShare()),
		promise.Judge(was.throttledShare() <= mostThrottled))
}
