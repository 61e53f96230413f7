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

// wait waits as the mode demands, and records the wait. It returns the generation of the delay.
func (r *Responsive) wait(ctx context.Context) (uint64, error) {
	begun := time.Now()
	var generation uint64
	var waited bool
	var err error
	if r.config.Mode == Sleep {
		generation, waited, err = r.waitSleep(ctx, begun)
	} else {
		generation, waited, err = r.waitTurn(ctx, begun)
	}
	if waited {
		r.recordWait(ctx, time.Since(begun), err)
	}
	return generation, err
}

func (r *Responsive) recordWait(ctx context.Context, d time.Duration, err error) {
	r.mu.Lock()
	r.counters.waiting--
	r.counters.sleepTime += d
	if err == nil {
		r.counters.slept++
		r.touch(time.Now())
	} else {
		r.counters.canceled++
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

// waitTurn waits in the queue of mode Pace, until all earlier callers had their turn and the gap
// after the last is over.
func (r *Responsive) waitTurn(ctx context.Context, now time.Time) (generation uint64, waited bool, err error) {
	r.resetIdle(now) // before this call enters the queue, because a hook may panic
	var self *list.Element
	for {
		left, generation := r.tryTurn(&self, now)
		if left <= 0 {
			return generation, self != nil, nil
		}
		if err := r.sleep(ctx, left, self.Value.(*waiter).wake); err != nil {
			r.mu.Lock()
			r.queue.remove(self)
			r.mu.Unlock()
			return 0, true, err
		}
		now = time.Now()
	}
}

// tryTurn takes the caller's turn if it is due. Otherwise it returns the time left, and sets self
// to a new entry of the queue if it is nil.
func (r *Responsive) tryTurn(self **list.Element, now time.Time) (left time.Duration, generation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touch(now)
	left = r.takeTurn(*self, now)
	if left > 0 && *self == nil {
		*self = r.queue.push()
		r.counters.waiting++
	}
	return left, r.delay.generation
}

// untilWoken is the sleep of a waiter that is not the first of the queue: another call wakes it.
const untilWoken = time.Duration(math.MaxInt64)

// takeTurn takes the turn of self, and removes self from the queue. If the turn is not due, it
// returns the time left instead. The caller holds the lock.
func (r *Responsive) takeTurn(self *list.Element, now time.Time) time.Duration {
	if r.queue.waiters.Front() != self {
		return untilWoken
	}
	r.untilRetry(now)
	due := r.queue.next(r.retryAt)
	if left := due.Sub(now); left > 0 {
		return left
	}
	r.queue.take(due, now, self != nil, r.delay.randomized(rand.Float64()))
	if self != nil {
		r.queue.remove(self)
	}
	return 0
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

type sleeper struct {
	until      time.Time // end of the delay; a Retry-After may last longer
	generation uint64    // of the delay
	resets     uint64    // before the sleep
}

// waitSleep sleeps the present delay, independently of other workers. A Retry-After that arrives
// meanwhile makes it longer, and Reset ends it.
func (r *Responsive) waitSleep(ctx context.Context, now time.Time) (generation uint64, waited bool, err error) {
	r.resetIdle(now)
	s, left, wake := r.startSleep(now)
	waited = left > 0
	for left > 0 {
		if err := r.sleep(ctx, left, wake); err != nil {
			return s.generation, true, err
		}
		left, wake = r.continueSleep(&s, time.Now())
	}
	return s.generation, waited, nil
}

// startSleep returns a new sleeper, the time left to sleep, and the channel that wakes it.
func (r *Responsive) startSleep(now time.Time) (s sleeper, left time.Duration, wake <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touch(now)
	s = sleeper{until: now.Add(r.delay.randomized(rand.Float64())), generation: r.delay.generation, resets: r.resets}
	left, wake = r.sleepLeft(&s, now)
	if left > 0 {
		r.counters.waiting++
	}
	return s, left, wake
}

// continueSleep is startSleep for a sleeper that woke up.
func (r *Responsive) continueSleep(s *sleeper, now time.Time) (left time.Duration, wake <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sleepLeft(s, now)
}

// sleepLeft returns the time left to sleep, and the channel that wakes s. After a Reset the delay
// of s is over. The caller holds the lock.
func (r *Responsive) sleepLeft(s *sleeper, now time.Time) (left time.Duration, wake <-chan struct{}) {
	if s.resets != r.resets {
		*s = sleeper{until: now, generation: r.delay.generation, resets: r.resets}
	}
	if latest := now.Add(r.config.MaxInterval); s.until.After(latest) { // MaxInterval has become lower
		s.until = latest
	}
	left = max(s.until.Sub(now), r.untilRetry(now))
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
		return min(max(0, due.Sub(now))+time.Duration(waiting)*r.delay.interval, r.config.MaxInterval)
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
