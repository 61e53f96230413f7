package backoff_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// nothing is no backoff at all.
func nothing() subject {
	return subject{name: "no backoff", make: func(int) (func(int) way, func() time.Duration) {
		call := func(_ context.Context, call func() answer) { call() }
		return func(int) way { return call }, func() time.Duration { return 0 }
	}}
}

// sleeper is the algorithm of the document with its defaults, as it describes it, behind a lock. It sleeps without the lock.
type sleeper struct {
	mu        sync.Mutex
	delay     time.Duration
	successes int
}

const (
	sleeperFirst     = 500 * time.Millisecond
	sleeperLongest   = 15 * time.Minute
	sleeperNoise     = 0.3
	sleeperNoiseMost = 2 * time.Minute
	sleeperUp        = 1.5
	sleeperDown      = 0.9
	sleeperThreshold = 10
)

// randomised spreads a delay. The document writes the result into its state.
func randomised(d float64) float64 {
	delta := min(sleeperNoise*d, float64(sleeperNoiseMost))
	return d - delta + 2*delta*rand.Float64()
}

func (s *sleeper) failed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delay == 0 {
		s.delay = sleeperFirst
		return s.delay
	}
	s.delay = time.Duration(min(randomised(float64(s.delay)*sleeperUp), float64(sleeperLongest)))
	return s.delay
}

func (s *sleeper) succeeded() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delay == 0 {
		return 0
	}
	s.successes++
	if s.successes == sleeperThreshold {
		s.successes = 0
		s.delay = time.Duration(randomised(float64(s.delay) * sleeperDown))
		if s.delay < sleeperFirst {
			s.delay = 0
		}
	}
	return s.delay
}

func (s *sleeper) present() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delay
}

func (s *sleeper) call(ctx context.Context, call func() answer) {
	d := time.Duration(0)
	if call().served {
		d = s.succeeded()
	} else {
		d = s.failed()
	}
	sleepFor(ctx, d)
}

// documentShared is one sleeper for all workers, documentEach one for each.
func documentShared() subject {
	return subject{name: "the document's, shared", make: func(int) (func(int) way, func() time.Duration) {
		s := &sleeper{}
		return func(int) way { return s.call }, s.present
	}}
}

func documentEach() subject {
	return subject{name: "the document's, one each", make: func(workers int) (func(int) way, func() time.Duration) {
		all := make([]sleeper, workers)
		return func(w int) way { return all[w].call }, all[0].present
	}}
}

// cubic is a send rate in the manner of the adaptive mode of AWS's SDKs: a bucket in front of the calls, which is made smaller when one
// is throttled, and grows along a cubic curve through where it was then. It begins with the first throttled call.
type cubic struct {
	ticket         chan struct{} // of the only one who waits for a token, the others wait for him
	mu             sync.Mutex
	on             bool
	fill, tokens   float64
	at             time.Time // of tokens
	peak           float64   // the rate when the last call was throttled
	cut            time.Time // when that was
	measured       float64   // calls per second
	counted        float64
	counting       time.Time
	beta, scale, k float64
}

const (
	cubicLeast  = 0.5
	cubicSmooth = 0.8
	cubicBin    = 500 * time.Millisecond
)

func cubicAdaptive() subject {
	return subject{name: "AWS-style cubic, shared", make: func(int) (func(int) way, func() time.Duration) {
		now := time.Now()
		c := &cubic{ticket: make(chan struct{}, 1), beta: 0.7, scale: 0.4, at: now, cut: now, counting: now, fill: cubicLeast}
		return func(int) way { return c.call }, c.delay
	}}
}

func (c *cubic) delay() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return 0
	}
	return time.Duration(float64(time.Second) / c.fill)
}

func (c *cubic) call(ctx context.Context, call func() answer) {
	c.ticket <- struct{}{}
	for d := c.take(time.Now()); d > 0 && ctx.Err() == nil; d = c.take(time.Now()) {
		sleepFor(ctx, d)
	}
	<-c.ticket
	served := call().served
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learn(time.Now(), served)
}

// take takes a token, or returns after how long there may be one.
func (c *cubic) take(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return 0
	}
	c.refill(now)
	if lacks := 1 - c.tokens; lacks > 0 {
		return max(time.Microsecond, time.Duration(lacks/c.fill*float64(time.Second)))
	}
	c.tokens--
	return 0
}

func (c *cubic) refill(now time.Time) {
	c.tokens = min(max(1, c.fill), c.tokens+now.Sub(c.at).Seconds()*c.fill)
	c.at = now
}

// learn moves the rate.
func (c *cubic) learn(now time.Time, served bool) {
	c.counted++
	if d := now.Sub(c.counting); d >= cubicBin {
		c.measured = cubicSmooth*c.counted/d.Seconds() + (1-cubicSmooth)*c.measured
		c.counted, c.counting = 0, now
	}
	c.refill(now)
	rate := 0.0
	if served {
		rate = c.scale*math.Pow(now.Sub(c.cut).Seconds()-c.k, 3) + c.peak
	} else {
		c.peak, c.cut = c.measured, now
		if c.on {
			c.peak = min(c.measured, c.fill)
		}
		c.k = math.Cbrt(c.peak * (1 - c.beta) / c.scale)
		rate, c.on = c.peak*c.beta, true
	}
	c.fill = max(cubicLeast, min(rate, 2*c.measured))
}
