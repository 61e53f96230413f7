package backoff

import (
	"container/list"
	"context"
	"math/rand/v2"
	"time"
)

// Wait waits for the caller's turn, and returns a permit for one call. It returns the error of ctx if that ends first: his turn is the next
// one's then, at once.
func (r *Responsive) Wait(ctx context.Context) (Permit, error) {
	ctx, err := r.sound(ctx)
	if err != nil {
		return Permit{}, err
	}
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	select {
	case <-r.closed:
		return Permit{}, ErrClosed
	default:
	}
	r.mu.Lock()
	if r.dial.interval == 0 && r.floor.IsZero() && r.line.empty() {
		generation := r.dial.generation
		r.mu.Unlock()
		return r.permit(generation), nil
	}
	r.mu.Unlock()
	generation, err := r.pass(ctx)
	if err != nil {
		return Permit{}, err
	}
	return r.permit(generation), nil
}

// pass waits, in the way of the mode, and tells of it. It returns the generation of the delay that was waited for.
func (r *Responsive) pass(ctx context.Context) (uint64, error) {
	begun := time.Now()
	var generation uint64
	var slept bool
	var err error
	if r.config.Mode == Sleep {
		generation, slept, err = r.sleepAlone(ctx, begun)
	} else {
		generation, slept, err = r.standInLine(ctx, begun)
	}
	if slept {
		r.noteSleep(ctx, time.Since(begun), err)
	}
	return generation, err
}

// noteSleep counts a wait, and tells of it.
func (r *Responsive) noteSleep(ctx context.Context, d time.Duration, err error) {
	r.mu.Lock()
	r.tally.sleeping--
	r.tally.sleepTime += d
	if err == nil {
		r.tally.slept++
		r.touch(time.Now())
	} else {
		r.tally.canceled++
	}
	r.mu.Unlock()
	if h := r.config.Hooks.Slept; h != nil {
		h(ctx, SleepEvent{Responsive: r, Duration: d, Err: err})
	}
}

// liftFloor returns how long the service still wants no call.
func (r *Responsive) liftFloor(now time.Time) time.Duration {
	left := r.floor.Sub(now)
	if left <= 0 {
		r.floor = time.Time{}
	}
	return max(0, left)
}

// standInLine waits until everybody before the caller has had his turn, and the gap after the last is over.
func (r *Responsive) standInLine(ctx context.Context, now time.Time) (generation uint64, slept bool, err error) {
	r.forgotten(now) // by itself: nobody has a place in line yet who could lose it if a hook panics
	var mine *list.Element
	for {
		early, generation := r.step(&mine, now)
		if early <= 0 {
			return generation, mine != nil, nil
		}
		if err := r.pause(ctx, early, mine.Value.(*place).look); err != nil {
			r.mu.Lock()
			r.line.leave(mine)
			r.mu.Unlock()
			return 0, true, err
		}
		now = time.Now()
	}
}

// step takes the caller's turn if it has come, and a place in line if he has none. It returns how long the turn is off, and the generation of the delay.
func (r *Responsive) step(mine **list.Element, now time.Time) (early time.Duration, generation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touch(now)
	early = r.turn(*mine, now)
	if early > 0 && *mine == nil {
		*mine = r.line.join()
		r.tally.sleeping++
	}
	return early, r.dial.generation
}

// notYet is how long those sleep who are not the first: somebody will wake them.
const notYet = 1<<63 - 1

// turn takes a turn if it is the caller's, and returns how long that is off otherwise.
func (r *Responsive) turn(mine *list.Element, now time.Time) time.Duration {
	if r.line.queue.Front() != mine {
		return notYet
	}
	r.liftFloor(now)
	due := r.line.due(r.floor)
	if early := due.Sub(now); early > 0 {
		return early
	}
	r.line.taken(due, now, mine != nil, r.dial.noisy(rand.Float64()))
	if mine != nil {
		r.line.leave(mine)
	}
	return 0
}

// pause sleeps, until somebody wakes it.
func (r *Responsive) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var over <-chan time.Time
	if d != notYet {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-wake:
	case <-ctx.Done():
		return ctx.Err()
	case <-r.closed:
		return ErrClosed
	}
	return nil
}

// slot returns how long somebody must wait who does not stand in line, and by which generation of the delay. He is believed to wait, and to call then.
func (r *Responsive) slot(now time.Time) (d time.Duration, generation uint64) {
	r.change(func() {
		r.settle(now)
		d, generation = r.giveSlot(now), r.dial.generation
		r.touch(now.Add(d))
	})
	return d, generation
}

// giveSlot is slot with the lock held. In the mode Pace it gives a turn away ahead of time.
func (r *Responsive) giveSlot(now time.Time) time.Duration {
	gap, floor := r.dial.noisy(rand.Float64()), r.liftFloor(now)
	if r.config.Mode == Sleep || gap == 0 {
		return max(gap, floor)
	}
	due := r.line.due(r.floor)
	if waiting := r.line.queue.Len(); waiting > 0 { // who stands in line is not overtaken
		return min(due.Sub(now)+time.Duration(waiting)*r.dial.interval, r.config.MaxInterval)
	}
	if latest := now.Add(r.config.MaxInterval); due.After(latest) {
		due = latest
	}
	r.line.taken(due, now, false, gap)
	return max(0, due.Sub(now))
}

// generation returns that of the delay.
func (r *Responsive) generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dial.generation
}
