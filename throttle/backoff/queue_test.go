package backoff

import (
	"testing"
	"time"
)

// TestQueueNext checks when the next turn is due, after one that was taken in time or late.
func TestQueueNext(t *testing.T) {
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
		{"in time, new call", 0, false, 5 * ms, 0, 5 * ms},
		{"woken a little late: made up", 3 * ms, true, 5 * ms, 0, 5 * ms},
		{"woken very late: half a gap made up", 50 * ms, true, 5 * ms, 0, 50 * ms},
		{"very late, a short gap: most of ten ms", 50 * ms, true, ms, 0, 42 * ms},
		{"very late, a long gap: nothing", 50 * ms, true, 20 * ms, 0, 70 * ms},
		{"new call: nothing", 3 * ms, false, 5 * ms, 0, 8 * ms},
		{"no gap", 3 * ms, false, 0, 0, 3 * ms},
		{"during a Retry-After", 0, true, 5 * ms, 30 * ms, 30 * ms},
		{"after a Retry-After", 0, true, 5 * ms, 2 * ms, 5 * ms},
	} {
		due := time.Unix(1000, 0)
		var q queue
		q.take(due, due.Add(tt.late), tt.waited, tt.gap)
		if got := q.next(due.Add(tt.floor)).Sub(due); got != tt.want {
			t.Errorf("%s: got the next turn %v after this was due want %v", tt.name, got, tt.want)
		}
	}
}

// TestReserve_manyWaiters wants the longest delay beside so many waiters that their delays overflow a Duration.
func TestReserve_manyWaiters(t *testing.T) {
	const day = 24 * time.Hour
	r := Must(New(Config{Name: "x", InitialInterval: day, MaxInterval: day, RandomizationFactor: -1}))
	now := time.Now()
	r.record(0, Throttled)
	for range 110_000 {
		r.queue.push()
	}
	if got, _ := r.reserve(now); got != day {
		t.Errorf("got %v want %v", got, day)
	}
}
