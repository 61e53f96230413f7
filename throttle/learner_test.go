package throttle_test

import (
	"context"
	"sync"
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := build(t, throttle.Config{SlowAuto: true})
				c.play(t, th)
				equal(t, "learned", th.Stats().Slow.Learned, c.want)
			})
		})
	}
}

// TestSlowAuto_longPolls: callers wait for an event, which becomes rare: then all wait longer and longer, and nothing is full.
func TestSlowAuto_longPolls(t *testing.T) {
	for _, every := range []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			th := buildTiered(t, throttle.Config{ProcessorWait: -1})
			events, end := make(chan struct{}), make(chan struct{})
			poll := func(context.Context) error {
				select {
				case <-events:
				case <-end:
				case <-time.After(30 * time.Second):
				}
				return nil
			}
			begin := time.Now()
			var callers sync.WaitGroup
			for range 100 {
				callers.Go(func() {
					for !isClosed(end) {
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
			close(end)
			callers.Wait()
			low := tier(th, throttle.Low)
			equal(t, "shed", low.Shed.Sum(), 0)
			equal(t, "booked", low.Slow.Booked, 0)
		})
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
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
