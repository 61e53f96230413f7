package shop

import "time"

const (
	// slowdown is how many times as long a call takes while the backend is slow.
	slowdown = 10
	// longestQueue is the longest wait in the queue. Later calls are lost: they get no answer.
	longestQueue = 2 * callTimeout
	// never is longer than any caller waits.
	never = time.Hour
)

// queue is the queue of a slow backend. The backend serves one call after the other, and does not
// notice that callers give up. So if the queue is longer than callers wait, all its work is wasted.
type queue struct {
	free time.Time // when the backend has served all calls in the queue
}

// enter adds a call, and returns how long it takes. The backend serves rate calls per second.
func (q *queue) enter(now time.Time, rate float64) time.Duration {
	begin := now
	if q.free.After(now) {
		begin = q.free
	}
	if begin.Sub(now) > longestQueue {
		return never
	}
	q.free = begin.Add(time.Duration(float64(time.Second) / rate))
	return q.free.Sub(now) + slowdown*minLatency
}
