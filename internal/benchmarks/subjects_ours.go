package main

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// The names of our subjects that bounds are set for.
const (
	ourAllowed      = "allowed"
	ourLow          = "allowed, low priority"
	ourGeneric      = "allowed, generic form"
	ourAdmit        = "allowed, Admit and Done"
	ourDoubtful     = "allowed, P > 0"
	ourDoubtfulDraw = "allowed, P > 0, own draw"
	ourFinished     = "allowed, Finished hook"
	ourBoth         = "allowed, Started and Finished hooks"
	ourMixed        = "allowed, one in 100 rejected"
	ourHurried      = "allowed, a bucket ends"
	ourShed         = "shed"
	ourShedDraw     = "shed, own draw"
	ourShedLow      = "shed, low priority"
	ourTimeout      = "rejected, DeadlineExceeded"
	ourUnavailable  = "rejected, faults.Unavailable"
	ourMissing      = "not found, faults.NotFound"
	ourPlain        = "not found, plain error"
)

var errPlain = errors.New("no such product")

// ours are calls through a Spillway throttle, in every state that changes what they cost.
func ours() []*subject {
	groups := []struct {
		name     string
		subjects []*subject
	}{
		{"spillway, allowed", allowed()},
		{"spillway, with hooks", hooked()},
		{"spillway, shed", refusals()},
		{"spillway, Tiered", tiered()},
		{"spillway, answered with an error", failures()},
		{"spillway, in OpenTelemetry", telemetry()},
		{"spillway, in HTTP and gRPC", wires()},
		{"spillway, breaker", breakers()},
		{"spillway, bucket", buckets()},
		{"spillway, backoff", backoffs()},
	}
	var all []*subject
	for _, g := range groups {
		for _, s := range g.subjects {
			s.group = g.name
			all = append(all, s)
		}
	}
	return all
}

// bench is a throttle to be measured.
func bench(c throttle.Config) *throttle.Throttle {
	c.Name = "bench"
	return throttle.Must(throttle.New(c))
}

// unlucky draws shed whatever may be shed, lucky ones let everything through.
func unlucky() float64 { return 0 }
func lucky() float64   { return math.Nextafter(1, 0) }

// ended returns a tally of the calls of priority p that ended with this outcome and fault, of all that were made from now on.
func ended(t *throttle.Throttle, p throttle.Priority, o throttle.Outcome, f throttle.Fault) func() (good, all uint64) {
	return since(t, p, func(s *throttle.PriorityStats) uint64 { return s.Ended.Count(o, f) })
}

// shed returns a tally of the calls of priority p that were shed, of all that were made from now on.
func shed(t *throttle.Throttle, p throttle.Priority) func() (good, all uint64) {
	return since(t, p, func(s *throttle.PriorityStats) uint64 { return s.Shed.Sum() })
}

func since(t *throttle.Throttle, p throttle.Priority, count func(*throttle.PriorityStats) uint64) func() (good, all uint64) {
	now := func() (good, all uint64) {
		s := &t.Stats().Priorities[p]
		return count(s), s.Ended.Sum() + s.Shed.Sum()
	}
	goodBefore, allBefore := now()
	return func() (good, all uint64) {
		good, all = now()
		return good - goodBefore, all - allBefore
	}
}

// healthy is a call of priority p that ends well, through a throttle that nothing has troubled.
func healthy(name string, p throttle.Priority, c throttle.Config, op func(*throttle.Throttle) error) *subject {
	t := bench(c)
	return &subject{
		name: name, pair: true, op: func() error { return op(t) },
		tally: ended(t, p, throttle.Accepted, throttle.FaultNone),
	}
}

func allowed() []*subject {
	var none throttle.Config
	ctx := context.Background()
	low := throttle.WithPriority(ctx, throttle.Low)
	cancellable, cancel := context.WithCancel(ctx)
	_ = cancel // the context lives as long as the program
	fallback := func(_ context.Context, err error, _ bool) error { return err }
	return []*subject{
		healthy(ourAllowed, throttle.High, none, func(t *throttle.Throttle) error { return t.Do(ctx, throttle.High, noop) }),
		healthy(ourLow, throttle.Low, none, func(t *throttle.Throttle) error { return t.Do(ctx, throttle.Low, noop) }),
		healthy(ourGeneric, throttle.High, none, func(t *throttle.Throttle) error {
			_, err := throttle.Do(ctx, t, throttle.High, noopValue)
			return err
		}),
		healthy(ourAdmit, throttle.High, none, admitAndDone),
		healthy("allowed, priority from context", throttle.Low, none, func(t *throttle.Throttle) error { return t.Do(low, throttle.High, noop) }),
		healthy("allowed, cancellable context", throttle.High, none, func(t *throttle.Throttle) error { return t.Do(cancellable, throttle.High, noop) }),
		healthy("allowed, fallback given", throttle.High, none, func(t *throttle.Throttle) error { return t.Do(ctx, throttle.High, noop, fallback) }),
		healthy("allowed, Off", throttle.High, throttle.Config{Mode: throttle.ModeOff}, func(t *throttle.Throttle) error { return t.Do(ctx, throttle.High, noop) }),
		doubtful(ourDoubtful, throttle.Config{Rand: lucky}, 1),
		doubtful(ourDoubtfulDraw, throttle.Config{}, 0.999),
		mixed(ourMixed, none),
		hurried(ourHurried, none, 500*time.Millisecond),
	}
}

func admitAndDone(t *throttle.Throttle) error {
	ctx := context.Background()
	call, err := t.Admit(ctx, throttle.High)
	if err != nil {
		return err
	}
	err = noop(call.Context())
	call.Done(err)
	return err
}

// doubtful is an allowed call while the probability of shedding is small, but not 0. The ratio is so low that a few rejections
// among many accepted calls are enough for that; they are made anew when the window has forgotten them.
func doubtful(name string, c throttle.Config, least float64) *subject {
	ctx := context.Background()
	c.Ratio = 1 + 1e-9
	t := bench(c)
	accept := func() error { return t.Do(ctx, throttle.High, noop) }
	reject := returns(context.DeadlineExceeded)
	times(200_000, func() { _ = accept() })
	return &subject{
		name: name, pair: true, least: least, op: accept,
		prepare: func() {
			for t.RejectionProbability(throttle.High) == 0 {
				times(20, func() { _ = t.Do(ctx, throttle.High, reject) })
			}
		},
		good: func(err error) bool { return err == nil && t.RejectionProbability(throttle.High) > 0 },
	}
}

// soonFull is a window that remembers its full span, and costs what it ever will, from the second second on.
const soonFull = time.Second

// mixed is a call to a backend that rejects one in a hundred, which is no reason to shed.
func mixed(name string, c throttle.Config) *subject {
	ctx := context.Background()
	c.Window = soonFull
	t := bench(c)
	busy := returns(context.DeadlineExceeded)
	calls := 0
	return &subject{
		name: name,
		op: func() error {
			if calls++; calls%100 == 0 {
				return t.Do(ctx, throttle.High, busy)
			}
			return t.Do(ctx, throttle.High, noop)
		},
		tally: ended(t, throttle.High, throttle.Accepted, throttle.FaultNone),
		least: 0.98,
	}
}

// hurried is a call during which a bucket of the window ends, as at most two calls a second are with the default window. Buckets
// are as wide as told.
func hurried(name string, c throttle.Config, width time.Duration) *subject {
	var clock atomic.Int64
	base := time.Now()
	c.Now = func() time.Time { return base.Add(time.Duration(clock.Add(int64(width)))) }
	s := healthy(name, throttle.High, c, func(t *throttle.Throttle) error {
		return t.Do(context.Background(), throttle.High, noop)
	})
	s.pair = false
	return s
}

func hooked() []*subject {
	finished := throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {}}
	both := finished
	both.Started = func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }
	all := both
	all.Shed = func(context.Context, throttle.ShedEvent) {}
	all.FellBack = func(context.Context, throttle.FallbackEvent) {}
	do := func(t *throttle.Throttle) error { return t.Do(context.Background(), throttle.High, noop) }
	only := throttle.Hooks{Shed: all.Shed}
	three := throttle.JoinHooks(all, all, all)
	return []*subject{
		healthy(ourFinished, throttle.High, throttle.Config{Hooks: finished}, do),
		healthy(ourBoth, throttle.High, throttle.Config{Hooks: both}, do),
		healthy("allowed, three joined hooks", throttle.High, throttle.Config{Hooks: three}, do),
		healthy("allowed, Shed hook", throttle.High, throttle.Config{Hooks: only}, do),
		refusal("shed, Shed hook", throttle.High, throttle.Config{Rand: unlucky, Hooks: only}, 1),
		refusal("shed, three joined hooks", throttle.High, throttle.Config{Rand: unlucky, Hooks: three}, 1),
	}
}

func refusals() []*subject {
	fallback := func(context.Context, error, bool) error { return nil }
	return []*subject{
		refusal(ourShed, throttle.High, throttle.Config{Rand: unlucky}, 1),
		refusal(ourShedDraw, throttle.High, throttle.Config{}, 0.99),
		refusal(ourShedLow, throttle.Low, throttle.Config{Rand: unlucky}, 1),
		refusal("shed, fallback serves", throttle.High, throttle.Config{Rand: unlucky}, 1, fallback),
	}
}

// refusal is a call that is shed, after the backend has rejected thousands of each priority up to p. What gets through is rejected.
func refusal(name string, p throttle.Priority, c throttle.Config, least float64, fallback ...throttle.Fallback) *subject {
	ctx := context.Background()
	t := bench(c)
	busy := returns(context.DeadlineExceeded)
	for range 10_000 {
		for q := throttle.High; q <= p; q++ {
			_ = t.Do(ctx, q, busy)
		}
	}
	return &subject{
		name: name, pair: true, least: least, tally: shed(t, p),
		op: func() error { return t.Do(ctx, p, busy, fallback...) },
	}
}

func failures() []*subject {
	return []*subject{
		failure(ourTimeout, context.DeadlineExceeded, throttle.Rejected, throttle.FaultTimeout),
		failure(ourUnavailable, faults.Unavailable(0), throttle.Rejected, throttle.FaultAvailability),
		rejectedInDoubt(),
		failure(ourMissing, faults.NotFound, throttle.Accepted, throttle.FaultMissing),
		failure(ourPlain, errPlain, throttle.Accepted, throttle.FaultOther),
		failure("cancelled by the caller", context.Canceled, throttle.Ignored, throttle.FaultCanceled),
	}
}

// failure is a call whose function returns err, through a throttle with a ratio so high that nothing is ever shed: one call accepted
// before each slice outweighs a million rejections, and the gate can be proven harmless, at the price of a look at every bucket.
func failure(name string, err error, o throttle.Outcome, f throttle.Fault) *subject {
	ctx := context.Background()
	t := bench(throttle.Config{Ratio: 1e6, Window: soonFull})
	fn := returns(err)
	tally := ended(t, throttle.High, o, f)
	var prepared uint64
	return &subject{
		name: name, pair: true, op: func() error { return t.Do(ctx, throttle.High, fn) },
		prepare: func() {
			prepared++
			_ = t.Do(ctx, throttle.High, noop)
		},
		tally: func() (good, all uint64) {
			good, all = tally()
			return good, all - prepared
		},
	}
}

// rejectedInDoubt is a call that the backend rejects in the midst of an overload.
func rejectedInDoubt() *subject {
	ctx := context.Background()
	t := bench(throttle.Config{Rand: lucky})
	busy := returns(context.DeadlineExceeded)
	return &subject{
		name: "rejected, P > 0", pair: true, op: func() error { return t.Do(ctx, throttle.High, busy) },
		tally: ended(t, throttle.High, throttle.Rejected, throttle.FaultTimeout),
	}
}

// returns is a function that does nothing but return err.
func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}
