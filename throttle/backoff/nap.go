package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// nap is how one worker sleeps in the mode Sleep.
type nap struct {
	until      time.Time // by the delay alone
	generation uint64    // of that delay
	resets     uint64    // before it
}

// sleepAlone sleeps the present delay, beside all others, and longer if meanwhile the service has come to want no call.
func (r *Responsive) sleepAlone(ctx context.Context, now time.Time) (generation uint64, slept bool, err error) {
	r.forgotten(now)
	n, d, bell := r.lieDown(now)
	slept = d > 0
	for d > 0 {
		if err := r.pause(ctx, d, bell); err != nil {
			return n.generation, true, err
		}
		d, bell = r.wakeUp(&n, time.Now())
	}
	return n.generation, slept, nil
}

// lieDown begins a nap. It returns how long that is, as far as is known, and what rings if it is over before.
func (r *Responsive) lieDown(now time.Time) (n nap, d time.Duration, bell <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touch(now)
	n = nap{until: now.Add(r.dial.noisy(rand.Float64())), generation: r.dial.generation, resets: r.resets}
	d, bell = r.asleep(&n, now)
	if d > 0 {
		r.tally.sleeping++
	}
	return n, d, bell
}

// wakeUp looks how long a nap is to go on.
func (r *Responsive) wakeUp(n *nap, now time.Time) (d time.Duration, bell <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asleep(n, now)
}

// asleep is wakeUp with the lock held. After a reset there is no delay any more that was to be slept.
func (r *Responsive) asleep(n *nap, now time.Time) (d time.Duration, bell <-chan struct{}) {
	if n.resets != r.resets {
		*n = nap{until: now, generation: r.dial.generation, resets: r.resets}
	}
	d = max(n.until.Sub(now), r.liftFloor(now))
	if d > 0 && r.bell == nil {
		r.bell = make(chan struct{})
	}
	return d, r.bell
}

// ring wakes all who sleep by themselves, with the lock held.
func (r *Responsive) ring() {
	if r.bell != nil {
		close(r.bell)
		r.bell = nil
	}
}
