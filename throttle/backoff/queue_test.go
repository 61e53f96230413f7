package backoff

import (
	"testing"
	"time"
)

// TestTurnsAreNoted looks at when the next turn is, after one that was taken in time or late.
func TestTurnsAreNoted(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		late   time.Duration // how long after it was due the turn is taken
		waited bool
		gap    time.Duration
		floor  time.Duration // after the turn was due
		want   time.Duration // of the next, after the turn was due
	}{
		{"in time", 0, true, 5 * ms, 0, 5 * ms},
		{"in time, has just come", 0, false, 5 * ms, 0, 5 * ms},
		{"woken a little late: made good", 3 * ms, true, 5 * ms, 0, 5 * ms},
		{"woken very late: half a gap made good", 50 * ms, true, 5 * ms, 0, 50 * ms},
		{"very late, a short gap: most of ten ms", 50 * ms, true, ms, 0, 42 * ms},
		{"very late, a long gap: nothing", 50 * ms, true, 20 * ms, 0, 70 * ms},
		{"has just come: nothing", 3 * ms, false, 5 * ms, 0, 8 * ms},
		{"no gap", 3 * ms, false, 0, 0, 3 * ms},
		{"the service wants none", 0, true, 5 * ms, 30 * ms, 30 * ms},
		{"the service wanted none", 0, true, 5 * ms, 2 * ms, 5 * ms},
	} {
		due := time.Unix(1000, 0)
		var q queue
		q.take(due, due.Add(tt.late), tt.waited, tt.gap)
		if got := q.next(due.Add(tt.floor)).Sub(due); got != tt.want {
			t.Errorf("%s: got the next turn %v after this was due want %v", tt.name, got, tt.want)
		}
	}
}
