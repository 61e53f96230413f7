package throttle_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// callsOf makes n calls that take d each, one after the other.
func callsOf(t *testing.T, th *throttle.Throttle, n int, d time.Duration) {
	t.Helper()
	for range n {
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(d); return nil })
	}
}

func TestSlowAutoLearns(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		play func(t *testing.T, th *throttle.Throttle)
		want time.Duration
	}{
		"nothing from nine calls": {func(t *testing.T, th *throttle.Throttle) { callsOf(t, th, 9, 100*ms) }, 0},
		"five times the mean":     {func(t *testing.T, th *throttle.Throttle) { callsOf(t, th, 10, 100*ms) }, 500 * ms},
		"hardly from few long calls": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 200, 10*ms)
			callsOf(t, th, 10, 3*time.Second)
			callsOf(t, th, 1000, 10*ms)
		}, 50 * ms},
		"at least 50 ms": {func(t *testing.T, th *throttle.Throttle) { callsOf(t, th, 300, ms/2) }, 50 * ms},
		"the median of periods": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 3*101, 100*ms)
			callsOf(t, th, 60, 400*ms)
		}, 500 * ms},
		"follows a slower backend": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 5*101, 100*ms)
			callsOf(t, th, 4*51, 400*ms)
		}, 2 * time.Second},
		"only from accepted calls": {func(t *testing.T, th *throttle.Throttle) {
			for range 110 {
				_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(time.Second); return context.Canceled })
				callsOf(t, th, 1, 100*ms)
			}
		}, 500 * ms},
		"not while calls are shed": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 3*101, 100*ms)
			for range 60 {
				callsOf(t, th, 1, 400*ms)
				times(10, th, throttle.High, errBusy)
			}
		}, 500 * ms},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			th := build(t, throttle.Config{SlowAuto: true})
			c.play(t, th)
			equal(t, "learned", th.Stats().Slow.Learned, c.want)
		}))
	}
}

// doer is Do or DoLocal.
type doer func(context.Context, throttle.Priority, func(context.Context) error, ...throttle.Fallback) error

// load has many callers of a backend for 20 s, each of which waits for a second. It returns the share of the calls of High
// that were answered in time after the first 5 s.
func load(t *testing.T, do doer, rate int, serve func(ctx context.Context) error) float64 {
	t.Helper()
	var callers sync.WaitGroup
	var made, answered atomic.Int64
	begin := time.Now()
	for i := range 20 * rate {
		p, counts := throttle.Low, i >= 5*rate
		if i%10 == 0 {
			p = throttle.High
		}
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := do(ctx, p, serve)
			if p == throttle.High && counts {
				made.Add(1)
				if err == nil {
					answered.Add(1)
				}
			}
		})
		time.Sleep(time.Until(begin.Add(time.Duration(i+1) * time.Second / time.Duration(rate))))
	}
	callers.Wait()
	return float64(answered.Load()) / float64(made.Load())
}

// slots returns a backend that serves ten calls of 50 ms at the same time, in order of arrival.
func slots() func(ctx context.Context) error {
	free := make(chan struct{}, 10)
	return func(ctx context.Context) error {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-free }()
		time.Sleep(50 * time.Millisecond)
		return nil
	}
}

// TestSlowAuto_full: a pool with three times its load. High is served, and without SlowAuto it is not, except by a throttle
// that serves calls.
func TestSlowAuto_full(t *testing.T) {
	for _, tt := range []struct {
		c           throttle.Config
		serves      bool
		least, most float64
		full        bool
		would       bool // be refused, by a gate that only counts
	}{
		{throttle.Config{SlowAuto: true}, false, 0.94, 1, true, false},
		{throttle.Config{}, true, 0.94, 1, true, false},
		{throttle.Config{SlowAuto: true, SlowGate: throttle.ModeShadow}, false, 0, 1, true, true},
		{throttle.Config{}, false, 0, 0.91, false, false},
		{throttle.Config{SlowAuto: true, Slow: -1}, false, 0, 0.91, false, false},
		{throttle.Config{Slow: -1}, true, 0, 0.91, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			tt.c.Rand, tt.c.ProcessorWait = rand.Float64, -1
			th, backend := buildTiered(t, tt.c), slots()
			do := th.Do
			if tt.serves {
				do = th.DoLocal
			}
			load(t, do, 100, backend)
			equal(t, "full at half the load", th.Stats().Slow.Full, false)
			got := load(t, do, 600, backend)
			if got < tt.least || got > tt.most {
				t.Errorf("%+v: %.3f of High succeeded, want %v to %v", tt.c, got, tt.least, tt.most)
			}
			equal(t, "full", th.Stats().Slow.Full, tt.full)
			low := tier(th, throttle.Low)
			equal(t, "refused", low.Shed.Count(throttle.CauseLimit) > 0, tt.full && !tt.would)
			equal(t, "would refuse", low.Slow.WouldRefuse > 0, tt.would)
			load(t, do, 100, backend)
			equal(t, "full after it", th.Stats().Slow.Full, false)
		})
	}
}

// TestSlowAuto_longPolls: callers wait for an event, which becomes rare: then all wait longer and longer, and nothing is full.
func TestSlowAuto_longPolls(t *testing.T) {
	for _, every := range []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			th := buildTiered(t, throttle.Config{ProcessorWait: -1})
			events := make(chan struct{})
			ctx, end := context.WithCancel(t.Context())
			defer end()
			poll := func(context.Context) error {
				select {
				case <-events:
				case <-ctx.Done():
				case <-time.After(30 * time.Second):
				}
				return nil
			}
			begin := time.Now()
			var callers sync.WaitGroup
			for range 100 {
				callers.Go(func() {
					for ctx.Err() == nil {
						if err := th.DoLocal(t.Context(), throttle.Low, poll); err != nil {
							t.Errorf("with an event every %v, after %v: %v", every, time.Since(begin), err)
							return
						}
					}
				})
			}
			for time.Since(begin) < 2*time.Minute {
				next := every
				if time.Since(begin) < 20*time.Second {
					next = 10 * time.Millisecond // each caller waits for a second
				}
				time.Sleep(next)
				select {
				case events <- struct{}{}:
				default:
				}
			}
			end()
			callers.Wait()
			low := tier(th, throttle.Low)
			equal(t, "shed", low.Shed.Sum(), 0)
			equal(t, "booked", low.Slow.Booked, 0)
		})
	}
}

// TestSlowAuto_neverWritesOffAsRejected: a call that waits for long, such as a long poll, is not a rejection.
func TestSlowAuto_neverWritesOffAsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{SlowAuto: true})
		callsOf(t, th, 10, 100*time.Millisecond)
		calls := admitMany(t, th, throttle.Low, 5)
		time.Sleep(time.Minute)
		low := tier(th, throttle.Low)
		equal(t, "written off", low.Slow.WrittenOff, 5)
		equal(t, "rejected", low.Window.Rejected, 0)
		endAll(calls)
		equal(t, "open", th.Stats().Slow.Open+th.Stats().Slow.WrittenOff, 0)
	})
}

// TestSlowAuto_openCalls: calls that began before Slow was learned, or learned again, are open too.
func TestSlowAuto_openCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{SlowAuto: true})
		calls := admitMany(t, th, throttle.Low, 3)
		want := func(learned time.Duration, open, writtenOff int64) {
			t.Helper()
			s := th.Stats().Slow
			equal(t, "learned", s.Learned, learned)
			equal(t, "open", s.Open, open)
			equal(t, "written off", s.WrittenOff, writtenOff)
		}
		callsOf(t, th, 10, 100*time.Millisecond)
		want(500*time.Millisecond, 3, 0)
		calls = append(calls, admitMany(t, th, throttle.Low, 2)...)
		began := time.Now()
		callsOf(t, th, 5*101, 100*time.Millisecond)
		want(500*time.Millisecond, 3, 2)
		callsOf(t, th, 4*51, 400*time.Millisecond)
		want(2*time.Second, 3, 2)
		if got := th.Stats().Slow.Oldest; got < time.Since(began) {
			t.Errorf("the oldest call is open for %v, want at least %v", got, time.Since(began))
		}
		endAll(calls)
		want(2*time.Second, 0, 0)
	})
}

// TestSlowAuto_ofServers: a throttle learns Slow from its first call that this process serves on, but not with the
// policy SRE.
func TestSlowAuto_ofServers(t *testing.T) {
	for policy, want := range map[throttle.Policy]bool{throttle.Tiered: true, throttle.SRE: false} {
		th := buildTiered(t, throttle.Config{Policy: policy})
		times(1, th, throttle.High, nil)
		equal(t, "a client", th.Stats().Slow, throttle.SlowStats{})
		call, err := th.AdmitLocal(t.Context(), throttle.High)
		equal(t, "AdmitLocal", err, nil)
		call.Done(nil)
		equal(t, "a server", th.Stats().Slow.Auto, want)
		equal(t, "Tune", th.Tune(throttle.Patch{Slow: new(throttle.Duration(-1))}), nil)
		equal(t, "off", th.Stats().Slow, throttle.SlowStats{})
	}
}

func TestTuneSlowAuto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{SlowAuto: true})
		tune := func(auto bool, slow time.Duration) {
			t.Helper()
			equal(t, "Tune", th.Tune(throttle.Patch{SlowAuto: new(auto), Slow: new(throttle.Duration(slow))}), nil)
		}
		callsOf(t, th, 110, 100*time.Millisecond)
		learned := throttle.SlowStats{Slow: 500 * time.Millisecond, Learned: 500 * time.Millisecond, Auto: true}
		equal(t, "learned", th.Stats().Slow, learned)
		tune(true, 0)
		equal(t, "without a change", th.Stats().Slow, learned)
		tune(true, time.Second)
		equal(t, "a set Slow is in force", th.Stats().Slow, throttle.SlowStats{Slow: time.Second})
		tune(true, -1)
		equal(t, "negative", th.Stats().Slow, throttle.SlowStats{})
		tune(true, 0)
		equal(t, "begins again", th.Stats().Slow, throttle.SlowStats{Auto: true})
		tune(false, 0)
		equal(t, "off", th.Stats().Slow, throttle.SlowStats{})
		wantUsable(t, th)
	})
}

// TestTuneSlowAutoDuringCalls: whatever is turned on and off meanwhile, no call stays open.
func TestTuneSlowAutoDuringCalls(t *testing.T) {
	th := build(t, throttle.Config{Rand: lucky})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() { times(2000, th, throttle.Low, nil) })
	}
	for i := range 200 {
		equal(t, "Tune", th.Tune(throttle.Patch{
			SlowAuto: new(i%2 == 0), Slow: new(throttle.Duration(i%3) * throttle.Duration(time.Second)),
		}), nil)
		th.Stats()
	}
	callers.Wait()
	equal(t, "in flight", inFlight(th), 0)
	equal(t, "open", th.Stats().Slow.Open, 0)
	equal(t, "accepted", tier(th, throttle.Low).Ended.Sum(), 8000)
}
