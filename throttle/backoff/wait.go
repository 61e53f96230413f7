package backoff

import (
	"container/list"
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Wait waits for the caller's turn, and returns a permit for one call. If ctx ends first, Wait
// returns its error, and the turn goes to the next caller at once. After [Responsive.Close] it
// returns [ErrClosed].
func (r *Responsive) Wait(ctx context.Context) (Permit, error) {
	ctx, err := r.checkArgs(ctx)
	if err != nil {
		return Permit{}, err
	}
	select {
	case <-r.closed:
		return Permit{}, ErrClosed
	default:
	}
	r.mu.Lock()
	if r.delay.interval == 0 && r.retryAt.IsZero() && r.queue.empty() {
		generation := r.delay.generation
		r.mu.Unlock()
		return r.newPermit(generation), nil
	}
	r.mu.Unlock()
	generation, err := r.wait(ctx)
	if err != nil {
		return Permit{}, err
	}
	return r.newPermit(generation), nil
}

// turn is the wait of one call.
type turn struct {
	waits      bool          // it did not end at once
	generation uint64        // of the delay
	place      *list.Element // in the queue of mode Pace
	until      time.Time     // in mode Sleep: end of the delay; a Retry-After may last longer
	resets     uint64        // in mode Sleep: before the sleep
}

// wait waits as the mode demands, and records the wait. It returns the generation of the delay.
func (r *Responsive) wait(ctx context.Context) (uint64, error) {
	begun := time.Now()
	r.resetIdle(begun) // before this call waits, because a hook may panic
	var t turn
	var err error
	for now := begun; err == nil; now = time.Now() {
		left, wake := r.try(&t, now)
		if left <= 0 {
			break
		}
		err = r.sleep(ctx, left, wake)
	}
	if t.waits {
		r.recordWait(ctx, &t, time.Since(begun), err)
	}
	return t.generation, err
}

// try ends a wait if it is time. Otherwise it returns the time left, and the channel that wakes the call.
func (r *Responsive) try(t *turn, now time.Time) (left time.Duration, wake <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config.Mode == Sleep {
		left, wake = r.trySleep(t, now)
	} else {
		left, wake = r.tryTurn(t, now)
	}
	if left > 0 && !t.waits {
		t.waits = true
		r.stats.Waiting++
	}
	return left, wake
}

func (r *Responsive) recordWait(ctx context.Context, t *turn, d time.Duration, err error) {
	r.mu.Lock()
	r.queue.remove(t.place) // unless the turn was taken
	r.stats.Waiting--
	r.stats.SleepTime += d
	if err == nil {
		r.stats.Slept++
		r.touch(time.Now())
	} else {
		r.stats.Canceled++
	}
	r.mu.Unlock()
	if h := r.config.Hooks.Slept; h != nil {
		h(ctx, SleepEvent{Responsive: r, Duration: d, Err: err})
	}
}

// untilRetry returns how long the last Retry-After still lasts. The caller holds the lock.
func (r *Responsive) untilRetry(now time.Time) time.Duration {
	left := r.retryAt.Sub(now)
	if left <= 0 {
		r.retryAt = time.Time{}
	}
	return max(0, left)
}

// untilWoken is the sleep of a waiter that is not the first of the queue: another call wakes it.
const untilWoken = time.Duration(math.MaxInt64)

// tryTurn takes the turn of a call in mode Pace, if all earlier callers had theirs and the gap after the
// last is over. Otherwise the call is in the queue. The caller holds the lock.
func (r *Responsive) tryTurn(t *turn, now time.Time) (left time.Duration, wake <-chan struct{}) {
	r.touch(now)
	t.generation, left = r.delay.generation, untilWoken
	if r.queue.waiters.Front() == t.place {
		r.untilRetry(now)
		due := r.queue.next(r.retryAt)
		if left = due.Sub(now); left <= 0 {
			r.queue.take(due, now, t.waits, r.delay.randomized(rand.Float64()))
			r.queue.remove(t.place)
			t.place = nil
			return 0, nil
		}
	}
	if t.place == nil {
		t.place = r.queue.push()
	}
	return left, t.place.Value.(chan struct{})
}

// sleep sleeps for d, or until wake, the end of ctx, or Close. The last two are errors.
func (r *Responsive) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var timeout <-chan time.Time
	if d != untilWoken {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-timeout:
	case <-wake:
	case <-ctx.Done():
		return ctx.Err()
	case <-r.closed:
		return ErrClosed
	}
	return nil
}

// trySleep ends the sleep of a call in mode Sleep, independently of other workers. A Retry-After that
// arrives meanwhile makes it longer, and Reset ends it. The caller holds the lock.
func (r *Responsive) trySleep(t *turn, now time.Time) (left time.Duration, wake <-chan struct{}) {
	switch {
	case t.until.IsZero():
		r.touch(now)
		t.until, t.generation, t.resets = now.Add(r.delay.randomized(rand.Float64())), r.delay.generation, r.resets
	case t.resets != r.resets:
		t.until, t.generation, t.resets = now, r.delay.generation, r.resets
	}
	if latest := now.Add(r.config.MaxInterval); t.until.After(latest) { // MaxInterval has become lower
		t.until = latest
	}
	left = max(t.until.Sub(now), r.untilRetry(now))
	if left > 0 && r.wake == nil {
		r.wake = make(chan struct{})
	}
	return left, r.wake
}

// wakeSleepers wakes all sleepers of mode Sleep. The caller holds the lock.
func (r *Responsive) wakeSleepers() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// reserve returns how long a caller must wait that waits outside, and the generation of the delay.
// It records a call at the end of that wait.
func (r *Responsive) reserve(now time.Time) (d time.Duration, generation uint64) {
	r.update(func() {
		r.resetIdleLocked(now)
		d, generation = r.reserveLocked(now), r.delay.generation
		r.touch(now.Add(d))
	})
	return d, generation
}

// reserveLocked is reserve with the lock held. In mode Pace it reserves a turn.
func (r *Responsive) reserveLocked(now time.Time) time.Duration {
	gap, untilRetry := r.delay.randomized(rand.Float64()), r.untilRetry(now)
	if r.config.Mode == Sleep || gap == 0 {
		return max(gap, untilRetry)
	}
	due := r.queue.next(r.retryAt)
	if waiting := r.queue.waiters.Len(); waiting > 0 { // do not overtake the queue: estimate only
		enough := r.config.MaxInterval/r.delay.interval + 1 // for MaxInterval: more might overflow
		return min(max(0, due.Sub(now))+min(time.Duration(waiting), enough)*r.delay.interval, r.config.MaxInterval)
	}
	if latest := now.Add(r.config.MaxInterval); due.After(latest) {
		due = latest
	}
	r.queue.take(due, now, false, gap)
	return max(0, due.Sub(now))
}

// generation returns the generation of the present delay.
func (r *Responsive) generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delay.generation
}
