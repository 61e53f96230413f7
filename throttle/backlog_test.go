package throttle

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// backlogSteps are seconds in which the calls of a backend end in the same way.
type backlogSteps struct {
	seconds          int
	accepted, failed float64 // a second; failed are late and without an answer
	late, grew       bool    // many calls are late, and open; the times of late calls grow
	want             bool    // a queue is found at the end
}

func TestGate_findBacklog(t *testing.T) {
	queue := backlogSteps{seconds: 4, accepted: 100, late: true, grew: true, want: true}
	for name, steps := range map[string][]backlogSteps{
		"times grow":                 {queue},
		"times grow, few are late":   {{seconds: 4, accepted: 100, grew: true}},
		"late, and not longer":       {{seconds: 4, accepted: 100, late: true}},
		"a third fails":              {{seconds: 4, accepted: 10, failed: 5, late: true, want: true}},
		"a sixth fails":              {{seconds: 4, accepted: 10, failed: 2, late: true}},
		"one fails in two seconds":   {{seconds: 4, accepted: 0.5, failed: 0.5, late: true}},
		"accepts as many":            {queue, {seconds: 8, accepted: 100, late: true, want: true}},
		"accepts a little less":      {queue, {seconds: 8, accepted: 70, late: true, want: true}},
		"accepts much less":          {queue, {seconds: 8, accepted: 40, late: true}},
		"accepts much less, in time": {queue, {seconds: 6, accepted: 40, want: true}},
		"accepted more for a while":  {queue, {seconds: 4, accepted: 300, late: true, want: true}, {seconds: 8, accepted: 100, late: true, want: true}},
		"accepts much less, of few":  {{seconds: 4, accepted: 20, late: true, grew: true, want: true}, {seconds: 8, accepted: 8, late: true, want: true}},
		"grows again soon":           {queue, {seconds: 4, accepted: 40, late: true}, {seconds: 3, accepted: 40, late: true, grew: true}},
		"grows again after a while":  {queue, {seconds: 12, accepted: 40, late: true}, {seconds: 4, accepted: 40, late: true, grew: true, want: true}},
		"no late calls for seven":    {queue, {seconds: 7, accepted: 100, want: true}},
		"no late calls for twelve":   {queue, {seconds: 12, accepted: 100}},
		"late calls again and again": {queue, {seconds: 7, accepted: 100, want: true}, {seconds: 1, accepted: 100, late: true, want: true}, {seconds: 7, accepted: 100, want: true}},
	} {
		g, half := &gate{}, int64(0)
		g.open(0, [MaxPriorities]window.Counts{})
		calm := backlogSteps{seconds: 4, accepted: steps[0].accepted}
		for i, s := range append([]backlogSteps{calm}, steps...) {
			for range 2 * s.seconds {
				half++
				now := time.Duration(half) * markLength
				g.mark(half)
				g.last.accepted[0] += s.accepted / 2
				g.last.failed += s.failed / 2
				g.trend.grew = s.grew
				g.lasting.value = 0
				if s.late {
					g.lasting.value = rightLength
				}
				g.findBacklog(now, s.late)
			}
			wantSame(t, fmt.Sprint(name, ", step ", i), g.full.Load(), s.want)
		}
	}
}
