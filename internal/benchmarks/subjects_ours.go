package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

var errPlain = errors.New("no such product")

// allSubjects returns the subjects in the order in which they are reported. Those after the peers are calls through
// Spillway, in every state that changes their cost.
func allSubjects() []*subject {
	groups := []struct {
		name     string
		subjects []*subject
	}{
		{"floors", floors()},
		{"peers", peers()},
		{"spillway, allowed", allowed()},
		{"spillway, with hooks", hooked()},
		{"spillway, shed", shedCalls()},
		{"spillway, tenants", tenants()},
		{"spillway, Tiered", tiered()},
		{"spillway, answered with an error", failures()},
		{"spillway, in OpenTelemetry", telemetry()},
		{"spillway, in HTTP and gRPC", slices.Concat(httpClients(), httpServers(), grpcClients(), grpcServers())},
		{"spillway, breaker", breakers()},
		{"spillway, bucket", buckets()},
		{"spillway, backoff", backoffs()},
		{"spillway, retry", retriers()},
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

func bench(c throttle.Config) *throttle.Throttle {
	c.Name = "bench"
	return throttle.Must(throttle.New(c))
}

// drawShed sheds every call whose probability is above 0. drawAdmit admits every call.
func drawShed() float64  { return 0 }
func drawAdmit() float64 { return math.Nextafter(1, 0) }

// ended returns a tally of the calls of priority p that end with this outcome and fault, from now on.
func ended(t *throttle.Throttle, p throttle.Priority, o throttle.Outcome, f throttle.Fault) func() (good, all uint64) {
	return since(t, p, func(s *throttle.PriorityStats) uint64 { return s.Ended.Count(o, f) })
}

// shed returns a tally of the calls of priority p that are shed, from now on.
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

// healthy is a successful call of priority p through a throttle without rejections.
func healthy(ctx context.Context, name string, p throttle.Priority, c throttle.Config) *subject {
	return healthyBy(name, p, c, func(t *throttle.Throttle) error { return t.Do(ctx, p, noop) })
}

func healthyBy(name string, p throttle.Priority, c throttle.Config, op func(*throttle.Throttle) error) *subject {
	t := bench(c)
	return &subject{
		name: name, pair: true, op: func() error { return op(t) },
		tally: ended(t, p, throttle.Accepted, throttle.FaultNone),
	}
}

func allowed() []*subject {
	none := throttle.Config{Policy: throttle.SRE}
	ctx := context.Background()
	return []*subject{
		healthy(ctx, "allowed", throttle.High, none),
		healthy(ctx, "allowed, low priority", throttle.Low, none),
		healthy(ctx, "allowed, Slow", throttle.High, throttle.Config{Policy: throttle.SRE, Slow: 100 * time.Millisecond}),
		healthy(ctx, "allowed, learned Slow", throttle.High, throttle.Config{Policy: throttle.SRE, SlowAuto: true}),
		controlled(),
		healthyBy("allowed, generic form", throttle.High, none, func(t *throttle.Throttle) error {
			_, err := throttle.Do(ctx, t, throttle.High, noopValue)
			return err
		}),
		healthyBy("allowed, Admit and Done", throttle.High, none, admitAndDone),
		positive(ctx, "allowed, P > 0", throttle.High, throttle.Config{Policy: throttle.SRE, Rand: drawAdmit}, 1),
		positive(ctx, "allowed, P > 0, own draw", throttle.High, throttle.Config{Policy: throttle.SRE}, 0.999),
		mixed("allowed, one in 100 rejected", none),
		bucketEnds("allowed, a bucket ends", none, 500*time.Millisecond),
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

// positive is an allowed call of priority p while the probability of shedding is small, but not 0. The
// ratio is so low that a few rejections among many accepted calls are enough. prepare repeats them when
// they have left the window. A call of the highest priority comes with them, because Tiered treats the
// highest that it sees like SRE.
func positive(ctx context.Context, name string, p throttle.Priority, c throttle.Config, least float64) *subject {
	c.Ratio = 1 + 1e-9
	t := bench(c)
	accept := func() error { return t.Do(ctx, p, noop) }
	reject := returns(context.DeadlineExceeded)
	times(200_000, func() { _ = accept() })
	return &subject{
		name: name, pair: true, least: least, op: accept,
		prepare: func() {
			for t.RejectionProbability(p) == 0 {
				_ = t.Do(ctx, throttle.High, noop)
				times(20, func() { _ = t.Do(ctx, p, reject) })
			}
		},
		good: func(err error) bool { return err == nil && t.RejectionProbability(p) > 0 },
	}
}

// shortWindow is a window that is full, and has reached its final cost, after one second.
const shortWindow = time.Second

// mixed is a call to a backend that rejects one call in a hundred, which is too few to shed.
func mixed(name string, c throttle.Config) *subject {
	ctx := context.Background()
	c.Window = shortWindow
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

// bucketEnds is a call during which a bucket of the window ends. With the default window this happens
// to at most two calls a second. width is the width of a bucket.
func bucketEnds(name string, c throttle.Config, width time.Duration) *subject {
	var clock atomic.Int64
	base := time.Now()
	c.Now = func() time.Time { return base.Add(time.Duration(clock.Add(int64(width)))) }
	s := healthy(context.Background(), name, throttle.High, c)
	s.pair = false
	return s
}

func hooked() []*subject {
	finished := throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {}}
	both := finished
	both.Started = func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }
	ctx := context.Background()
	return []*subject{
		healthy(ctx, "allowed, Finished hook", throttle.High, throttle.Config{Policy: throttle.SRE, Hooks: finished}),
		healthy(ctx, "allowed, Started and Finished hooks", throttle.High, throttle.Config{Policy: throttle.SRE, Hooks: both}),
	}
}

func shedCalls() []*subject {
	ctx := context.Background()
	return []*subject{
		shedCall(ctx, "shed", throttle.High, throttle.Config{Policy: throttle.SRE, Rand: drawShed}, 1),
		shedCall(ctx, "shed, own draw", throttle.High, throttle.Config{Policy: throttle.SRE}, 0.99),
		shedCall(ctx, "shed, low priority", throttle.Low, throttle.Config{Policy: throttle.SRE, Rand: drawShed}, 1),
	}
}

// shedCall is a call that is shed, after the backend has rejected thousands of calls of each priority up
// to p. The backend rejects every admitted call.
func shedCall(ctx context.Context, name string, p throttle.Priority, c throttle.Config, least float64) *subject {
	t := bench(c)
	busy := returns(context.DeadlineExceeded)
	for range 10_000 {
		for q := throttle.High; q <= p; q++ {
			_ = t.Do(ctx, q, busy)
		}
	}
	return &subject{
		name: name, pair: true, least: least, tally: shed(t, p),
		op: func() error { return t.Do(ctx, p, busy) },
	}
}

func tenants() []*subject {
	ctx := throttle.WithTenant(context.Background(), "shop 17")
	sre := throttle.Config{Policy: throttle.SRE}
	return []*subject{
		healthy(ctx, "allowed, tenant", throttle.High, sre),
		positive(ctx, "allowed, P > 0, tenant", throttle.High, sre, 0.999),
		shedCall(ctx, "shed, tenant", throttle.High, sre, 0.99),
	}
}

func failures() []*subject {
	return []*subject{
		failure("rejected, DeadlineExceeded", context.DeadlineExceeded, throttle.Rejected, throttle.FaultTimeout),
		failure("rejected, faults.Unavailable", faults.Unavailable(0), throttle.Rejected, throttle.FaultAvailability),
		failure("not found, faults.NotFound", faults.NotFound, throttle.Accepted, throttle.FaultMissing),
		failure("not found, plain error", errPlain, throttle.Accepted, throttle.FaultOther),
	}
}

// failure is a call whose function returns err. The ratio is so high that no call is shed: one accepted
// call before each slice outweighs a million rejections. The throttle can prove that the probability
// stays 0, but must look at every bucket for it.
func failure(name string, err error, o throttle.Outcome, f throttle.Fault) *subject {
	ctx := context.Background()
	t := bench(throttle.Config{Policy: throttle.SRE, Ratio: 1e6, Window: shortWindow})
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

func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// controlled is an allowed call while an operator's settings are in force.
func controlled() *subject {
	ctl := throttle.Must(control.New(control.Config{}))
	c := throttle.Config{Policy: throttle.SRE, Hooks: ctl.ThrottleHooks()}
	s := healthy(context.Background(), "allowed, settings overridden", throttle.High, c)
	_ = throttle.Must(ctl.Apply(context.Background(), control.Document{Throttles: map[string]*control.Throttle{"bench": {Patch: throttle.Patch{Ratio: new(3.0)}}}}))
	return s
}

// tiered returns calls through a throttle with the policy Tiered. They have the lowest priority where
// it matters, because the highest follows the formula of SRE.
func tiered() []*subject {
	ctx, policy := context.Background(), throttle.Config{Policy: throttle.Tiered}
	shedding := throttle.Config{Policy: throttle.Tiered, Rand: drawShed}
	return []*subject{
		healthy(ctx, "Tiered, allowed, low priority", throttle.Low, policy),
		positive(ctx, "Tiered, allowed, low priority, P > 0", throttle.Low, throttle.Config{Policy: throttle.Tiered, Background: -1, Rand: drawAdmit}, 1),
		mixed("Tiered, allowed, one in 100 rejected", policy),
		bucketEnds("Tiered, allowed, a bucket ends", policy, 10*time.Second/120),
		shedCall(ctx, "Tiered, shed, low priority", throttle.Low, shedding, 1),
	}
}
