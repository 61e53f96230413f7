package processor

import "math"

const (
	// testTime is how long one look takes, in seconds. Two looks must agree.
	testTime = 0.25
	// watchTime is how long a look takes while nothing is shed.
	watchTime = 1.0
	// smoothTime is how long a wait counts meanwhile: the number of others varies, too.
	smoothTime = 0.1
	// endOfTurn is the longest turn that Go's scheduler gives, in seconds.
	endOfTurn = 0.01
	// keepTime is how fast the floor is forgotten during an overload. Then a trial finds it again.
	keepTime = 20.0
	// mostRefusals is the number of calls per second and processor from which refusals alone may keep
	// the processors busy. Then a trial shows nothing.
	mostRefusals = 4000
)

// background is how long a goroutine waits for others that are not requests: workers that never rest.
// To shed requests does not help against them.
//
// It is found in two ways. While nothing is shed, it is the shortest wait of a second, as long as that
// alone is no overload. While nearly all is shed, it is the wait that stays all the same.
type background struct {
	floor   float64 // seconds
	least   float64 // of this look
	sum     float64
	looked  float64 // for how long
	before  float64 // what the look before has found
	testing bool
	mean    float64 // of the wait of about a second
	smooth  float64 // the wait of about a tenth of a second
	calls   float64 // per second
}

// watch looks while nothing is shed. The floor is at most most.
func (b *background) watch(wait, dt float64, r *Reading, most float64) {
	b.begin(false)
	if r.Runnable > 0 {
		wait *= max(0, 1-float64(r.Open)/float64(r.Runnable))
	}
	b.smooth += (wait - b.smooth) * (1 - math.Exp(-dt/smoothTime))
	if b.look(b.smooth, dt) >= watchTime {
		b.floor = max(b.floor, min(b.least, most))
		b.next(b.least)
	}
}

// test looks while nearly all is shed, and reports whether it has found that this does not help.
func (b *background) test(wait, dt float64, r *Reading) bool {
	b.begin(true)
	longTurns := float64(r.Open) * endOfTurn / float64(r.Processors) // others wait so long if they are short
	if 10*r.Open > r.Runnable || longTurns > wait/2 || b.calls >= mostRefusals*float64(r.Processors) {
		b.next(math.Inf(1)) // requests that were admitted before, or refusals, keep the processors busy
		return false
	}
	if b.look(wait, dt) < testTime {
		return false
	}
	mean := b.sum / b.looked
	found := mean > 0.8*b.before && mean < 1.25*b.before
	if found {
		b.floor, b.mean = mean, mean
	}
	b.next(mean)
	return found
}

// keep forgets the floor slowly.
func (b *background) keep(dt float64) {
	b.begin(false)
	b.next(math.Inf(1))
	b.floor -= b.floor * dt / keepTime
}

// limit lowers the floor to the mean wait.
func (b *background) limit(wait, dt float64) {
	b.mean += (wait - b.mean) * (1 - math.Exp(-dt/watchTime))
	b.floor = min(b.floor, b.mean)
}

// begin begins a look, unless one of this kind runs.
func (b *background) begin(testing bool) {
	if b.testing != testing {
		b.testing = testing
		b.next(math.Inf(1))
	}
}

// look adds a tick, and returns for how long it has looked.
func (b *background) look(wait, dt float64) float64 {
	b.least = min(b.least, wait)
	b.sum += wait * dt
	b.looked += dt
	return b.looked
}

func (b *background) next(found float64) {
	b.before, b.least, b.sum, b.looked = found, math.Inf(1), 0, 0
}
