package throttle

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// joinedLength is the time of which the calls are compared with others.
	joinedLength = 5 * time.Second
	// leastJoined is the share of the answers that must be errors, in addition to the background.
	leastJoined = 0.07
	// The demand is the same below this multiple of it.
	sameDemand = 1.4
)

// joined finds errors that have joined an overload, if the backend says of other rejections that it is full.
// The fleet then sends fewer and fewer calls, and as many of them are doubtful as before. No
// trial is needed. If the backend says nothing, a capacity that falls looks the same for too long.
type joined struct {
	saysFull bool          // the backend has said that it is full in this alert
	before   window.Counts // the most calls that were sent
	since    window.Counts // calls when fewer were sent
}

// compare compares the calls of joinedLength, and returns whether errors have joined, and their ratio.
func (j *joined) compare(c *window.Counts, background float64) (ratio float64, found bool) {
	demand, before := requests(c), requests(&j.before)
	switch {
	case !j.saysFull, doubtful(c) < background+leastJoined, before > 0 && (demand > sameDemand*before || before > sameDemand*demand):
		j.before, j.since = window.Counts{}, window.Counts{}
	case before == 0 || answersOf(c) >= answersOf(&j.before):
		j.before, j.since = *c, window.Counts{}
	case answersOf(c) <= noticed*answersOf(&j.before):
		j.since = plus(&j.since, c)
		if evidenceForErrors(&j.before, &j.since) > trialLimit {
			all := plus(&j.before, &j.since)
			j.before, j.since = window.Counts{}, window.Counts{}
			return cautiousRatio(&all), true
		}
	}
	return 0, false
}
