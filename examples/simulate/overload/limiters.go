package overload

import (
	"math"
	"slices"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/spillway-go/spillway/throttle"
)

// limiters returns policies that limit the open calls and have no priorities. Each is played with its
// documented defaults, and with one setting that suits backends that serve few calls per client. All but
// that of failsafe-go are written after the descriptions of their authors.
func limiters() []Policy {
	least1 := adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 1).WithMaxLimitFactor(2)
	return []Policy{
		limiter("aimd", "a limit that falls by a tenth after a call of 5 s or more", func() law { return &aimd{timeout: 5 * time.Second, least: 20} }),
		limiter("aimd-tuned", "the same for calls of 100 ms or more, limit 1 or more", func() law { return &aimd{timeout: 100 * time.Millisecond, least: 1} }),
		limiter("vegas", "the limit of TCP Vegas", func() law { return &vegas{scale: 1} }),
		limiter("vegas-tuned", "the same, with an estimated queue of half the size", func() law { return &vegas{scale: 0.5} }),
		limiter("gradient2", "Gradient2 of Netflix", func() law { return &gradient2{least: 20, queue: 4} }),
		limiter("gradient2-tuned", "the same, limit 1 or more, queue size 1", func() law { return &gradient2{least: 1, queue: 1} }),
		limiter("envoy", "Envoy's gradient controller", func() law { return &envoy{least: 3} }),
		limiter("envoy-tuned", "the same, limit 1 or more", func() law { return &envoy{least: 1} }),
		failsafeLimiter("failsafe-limiter", "failsafe-go's adaptive limiter", adaptivelimiter.NewBuilder[any]()),
		failsafeLimiter("failsafe-limiter-tuned", "the same, from a limit of 1, at most twice the open calls", least1),
	}
}

// law changes a limit after each call.
type law interface {
	start() (limit float64)
	next(limit float64, s sample) float64
}

// sample is a call that has ended.
type sample struct {
	now, took time.Duration
	open      float64 // calls when it began, with it
	failed    bool
}

// limited is a client that limits its open calls.
type limited struct {
	now   func() time.Time
	law   law
	limit float64
	open  float64
}

// limitedCall is what a limited client keeps of an open call.
type limitedCall struct {
	began time.Time
	open  float64
}

func limiter(name, title string, newLaw func() law) Policy {
	return Policy{Name: name, Title: title, New: func(e Env) (Client, error) {
		l := newLaw()
		return &limited{now: e.Now, law: l, limit: l.start()}, nil
	}}
}

func (c *limited) Admit(throttle.Priority) (Token, bool) {
	if c.open >= math.Floor(c.limit) {
		return Token{}, false
	}
	c.open++
	return Token{Promise: limitedCall{c.now(), c.open}}, true
}

func (c *limited) End(t Token, o throttle.Outcome) {
	call, now := t.Promise.(limitedCall), c.now()
	c.open--
	c.limit = c.law.next(c.limit, sample{now.Sub(time.Unix(0, 0)), now.Sub(call.began), call.open, o != throttle.Accepted})
}

// aimd adds one to the limit, or takes a tenth away.
type aimd struct {
	timeout time.Duration
	least   float64
}

func (l *aimd) start() float64 { return 20 }

func (l *aimd) next(limit float64, s sample) float64 {
	switch {
	case s.failed || s.took > l.timeout:
		limit *= 0.9
	case 2*s.open >= limit:
		limit++
	}
	return min(max(limit, l.least), 200)
}

// vegas estimates the calls in the queue of the backend from the shortest time.
type vegas struct {
	scale    float64 // of the sizes of the queue
	shortest time.Duration
	probes   float64
}

func (l *vegas) start() float64 { return 20 }

func (l *vegas) next(limit float64, s sample) float64 {
	const probeAfter = 30 // limits
	if l.probes++; l.shortest == 0 || s.took < l.shortest || l.probes >= probeAfter*limit {
		l.shortest, l.probes = s.took, 0
		return limit
	}
	unit := max(1, math.Log10(limit))
	queue := math.Ceil(limit * (1 - float64(l.shortest)/float64(s.took)))
	switch {
	case s.failed:
		limit -= unit
	case 2*s.open < limit:
	case queue <= unit:
		limit += 6 * l.scale * unit
	case queue < 3*l.scale*unit:
		limit += unit
	case queue > 6*l.scale*unit:
		limit -= unit
	}
	return min(max(limit, 1), 1000)
}

// gradient2 compares each time with a slow average.
type gradient2 struct {
	least, queue float64
	mean, calls  float64
}

func (l *gradient2) start() float64 { return 20 }

func (l *gradient2) next(limit float64, s sample) float64 {
	const window, warmUp, smoothing, tolerance = 600, 10, 0.2, 1.5
	took := float64(s.took)
	if l.calls++; l.calls <= warmUp {
		l.mean += (took - l.mean) / l.calls
	} else {
		l.mean += (took - l.mean) * 2 / (window + 1)
	}
	if l.mean > 2*took {
		l.mean *= 0.95
	}
	if s.open < limit/2 {
		return limit
	}
	gradient := min(max(0.5, tolerance*l.mean/took), 1)
	limit += smoothing * (limit*gradient + l.queue - limit)
	return min(max(limit, l.least), 200)
}

// envoy compares the median of the times of 100 ms with that of a time of few calls.
type envoy struct {
	least   float64
	healthy float64
	since   time.Duration // the last measurement, or since it runs
	update  time.Duration
	times   []float64
	before  float64 // limit before the measurement
}

func (l *envoy) start() float64 { return l.least }

func (l *envoy) next(limit float64, s sample) float64 {
	const most, calls, buffer, interval, every = 1000, 50, 1.25, 100 * time.Millisecond, time.Minute
	l.times = append(l.times, float64(s.took))
	measuring := l.healthy == 0 || l.before > 0
	switch {
	case measuring && len(l.times) < calls, !measuring && s.now < l.update:
		return limit
	case measuring:
		l.healthy, l.since, limit, l.before = l.median(), s.now, max(l.least, l.before), 0
	case s.now-l.since > every:
		l.before, limit = limit, l.least
	default:
		gradient := min(max(0.5, buffer*l.healthy/l.median()), 2)
		limit = min(max(l.least, limit*gradient+math.Sqrt(limit*gradient)), most)
	}
	l.times, l.update = l.times[:0], s.now+interval
	return limit
}

func (l *envoy) median() float64 {
	slices.Sort(l.times)
	return l.times[len(l.times)/2]
}

// failsafeLimiter returns the policy of failsafe-go's limiter, without its executor. Calls that time out
// are dropped, as its executor does.
func failsafeLimiter(name, title string, b adaptivelimiter.Builder[any]) Policy {
	return Policy{Name: name, Title: title, RealClock: true, New: func(Env) (Client, error) { return failsafeLimited{b.Build()}, nil }}
}

type failsafeLimited struct {
	limiter adaptivelimiter.AdaptiveLimiter[any]
}

func (c failsafeLimited) Admit(throttle.Priority) (Token, bool) {
	permit, ok := c.limiter.TryAcquirePermit()
	return Token{Promise: permit}, ok
}

func (c failsafeLimited) End(t Token, o throttle.Outcome) {
	permit := t.Promise.(adaptivelimiter.Permit)
	if o == throttle.Accepted {
		permit.Record()
		return
	}
	permit.Drop()
}
