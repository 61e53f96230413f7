package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

const hedgeAfter = 100 * time.Millisecond

type act struct {
	takes time.Duration
	err   error
}

// play returns a function whose attempts do what acts say, and return their numbers. Attempts differ
// by the number in their context.
func play(acts ...act) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		n := retry.FromContext(ctx).Number
		select {
		case <-time.After(acts[n-1].takes):
			return n, acts[n-1].err
		case <-ctx.Done():
			return -n, ctx.Err()
		}
	}
}

func outcomesOf(th *throttle.Throttle) (n [3]uint64) {
	for _, p := range th.Stats().Priorities {
		for o := range n {
			n[o] += p.Ended.Outcome(throttle.Outcome(o))
		}
	}
	return n
}

func TestHedge(t *testing.T) {
	ms, slow := time.Millisecond, time.Hour
	for name, tt := range map[string]struct {
		acts     []act
		value    int
		err      error
		after    time.Duration
		calls    []uint64 // Stats.Calls
		hedged   uint64
		sent     uint64
		outcomes [3]uint64 // accepted, rejected, ignored
	}{
		"fast":                       {[]act{{99 * ms, nil}}, 1, nil, 99 * ms, []uint64{0, 1, 0, 0}, 0, 0, [3]uint64{1, 0, 0}},
		"fast, an error":             {[]act{{0, errBusy}}, 1, errBusy, 0, []uint64{0, 1, 0, 0}, 0, 0, [3]uint64{1, 0, 0}},
		"the hedge is first":         {[]act{{slow, nil}, {50 * ms, nil}}, 2, nil, 150 * ms, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{1, 0, 1}},
		"an error of the hedge":      {[]act{{slow, nil}, {50 * ms, errBusy}}, 2, errBusy, 150 * ms, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{1, 0, 1}},
		"the hedge is second":        {[]act{{120 * ms, nil}, {slow, nil}}, 1, nil, 120 * ms, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{1, 0, 1}},
		"the first is rejected":      {[]act{{120 * ms, rejected()}, {90 * ms, nil}}, 2, nil, 190 * ms, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{1, 1, 0}},
		"the hedge is rejected":      {[]act{{400 * ms, nil}, {90 * ms, rejected()}}, 1, nil, 400 * ms, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{1, 1, 0}},
		"both are":                   {[]act{{120 * ms, rejected()}, {80 * ms, rejected()}, {5 * ms, nil}}, 3, nil, 245 * ms, []uint64{0, 0, 0, 1}, 1, 2, [3]uint64{1, 2, 0}},
		"all are":                    {[]act{{120 * ms, rejected()}, {80 * ms, rejected()}, {0, rejected()}}, 3, errBusy, 240 * ms, []uint64{0, 0, 0, 1}, 1, 2, [3]uint64{0, 3, 0}},
		"the hedge asks for a delay": {[]act{{120 * ms, rejected()}, {80 * ms, faults.Unavailable(time.Second)}, {5 * ms, nil}}, 3, nil, 1245 * ms, []uint64{0, 0, 0, 1}, 1, 2, [3]uint64{1, 2, 0}},
		"rejected before its hedge":  {[]act{{10 * ms, rejected()}, {50 * ms, nil}}, 2, nil, 90 * ms, []uint64{0, 0, 1, 0}, 0, 1, [3]uint64{1, 1, 0}},
		"neither before the timeout": {[]act{{slow, nil}, {slow, nil}}, -1, context.DeadlineExceeded, 2 * time.Second, []uint64{0, 0, 1, 0}, 1, 1, [3]uint64{0, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }}))
				r := newRetrier(t, retry.Config{Throttle: th, Budget: generous(), Delay: retry.Delay{Initial: 60 * ms}})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				begun := time.Now()
				value, err := retry.Hedge(ctx, r, throttle.Medium, hedgeAfter, play(tt.acts...))
				if took := time.Since(begun); value != tt.value || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || took != tt.after {
					t.Errorf("got %d, %v after %v want %d, %v after %v", value, err, took, tt.value, tt.err, tt.after)
				}
				s, outcomes := r.Stats(), outcomesOf(th)
				if !slices.Equal(s.Calls, tt.calls) || s.Hedged != tt.hedged || s.Sent != tt.sent || outcomes != tt.outcomes {
					t.Errorf("got %+v, outcomes %v want %+v", s, outcomes, tt)
				}
			})
		})
	}
}

// TestHedge_NotMade wants one attempt at a call that takes long, and nothing counted as denied.
func TestHedge_NotMade(t *testing.T) {
	sheds := func(t *testing.T) *throttle.Throttle {
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }}))
		for range 100 {
			_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return rejected() })
		}
		time.Sleep(time.Second) // the decision of the next call is new
		return th
	}
	for name, tt := range map[string]struct {
		config   retry.Config
		throttle func(t *testing.T) *throttle.Throttle
		once     bool
	}{
		"empty budget":         {config: retry.Config{Budget: withoutReserve()}},
		"the throttle sheds":   {config: retry.Config{Budget: generous()}, throttle: sheds},
		"one attempt":          {config: retry.Config{Budget: generous(), Attempts: 1}},
		"once":                 {config: retry.Config{Budget: generous()}, once: true},
		"too close to its end": {config: retry.Config{Budget: generous(), Delay: retry.Delay{Attempt: time.Minute}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if tt.once {
				ctx = retry.WithoutRetries(ctx)
			}
			if tt.throttle != nil {
				tt.config.Throttle = tt.throttle(t)
			}
			r := newRetrier(t, tt.config)
			value, err := retry.Hedge(ctx, r, throttle.High, hedgeAfter, play(act{time.Second, nil}))
			if s := r.Stats(); value != 1 || err != nil || s.Sent != 0 || s.Calls[1] != 1 || s.Denied.Sum() != 0 {
				t.Errorf("%s: got %d, %v, %+v want one attempt", name, value, err, s)
			}
		})
	}
}

// TestHedge_Shed has a hedge that the throttle sheds, because other calls came late meanwhile. It is used up as a retry
// that is shed.
func TestHedge_Shed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Slow: hedgeAfter / 2, Policy: throttle.SRE}))
		for range 20 {
			_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return nil })
		}
		r := newRetrier(t, retry.Config{Throttle: th, Budget: generous()})
		_, err := retry.Hedge(t.Context(), r, throttle.High, hedgeAfter, func(ctx context.Context) (int, error) {
			for range 50 {
				throttle.Must(th.Admit(ctx, throttle.High))
			}
			time.Sleep(time.Second)
			return 1, nil
		})
		if s := r.Stats(); err != nil || s.Hedged != 0 || s.Limit-s.Left != 1 {
			t.Errorf("got %v, %+v want no hedge, and one used up", err, s)
		}
	})
}

func TestHedge_ContextAndHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		r := newRetrier(t, retry.Config{Attempts: 2, Budget: generous(), Hooks: retry.Hooks{
			Retried: func(ctx context.Context, e retry.SentEvent) {
				events = append(events, fmt.Sprint(e, e.Hedge, e.Err, retry.FromContext(ctx).Number))
			},
		}})
		var seen [2]throttle.Priority
		_, err := retry.Hedge(t.Context(), r, throttle.High, hedgeAfter, func(ctx context.Context) (int, error) {
			a := retry.FromContext(ctx)
			seen[a.Number-1] = throttle.PriorityFromContext(ctx, throttle.High)
			if a.Number == 2 {
				if a.Previous == nil || retry.FromContext(a.Previous).Number != 1 || a.Throttle == nil {
					t.Errorf("got %+v", a)
				}
				return 2, nil
			}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		if want := []string{"retry orders: hedge after 100ms true <nil> 2"}; err != nil || !slices.Equal(events, want) {
			t.Errorf("got %v, %q want %q", err, events, want)
		}
		if seen != [2]throttle.Priority{throttle.High, throttle.Important} {
			t.Errorf("got priorities %v want the hedge one lower", seen)
		}
	})
}

// TestHedge_LeavesNoGoroutine: synctest fails if an attempt goes on after Hedge has returned.
func TestHedge_LeavesNoGoroutine(t *testing.T) {
	for name, tt := range map[string]struct {
		panics int // the number of the attempt that does
		cancel time.Duration
	}{"cancelled": {0, 150 * time.Millisecond}, "cancelled before": {0, 50 * time.Millisecond}, "the first panics": {1, 0}, "the hedge panics": {2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			r, running, begun := newRetrier(t, retry.Config{Budget: generous()}), new(atomic.Int32), time.Now()
			var err error
			got := func() (panicked any) {
				defer func() { panicked = recover() }()
				_, err = retry.Hedge(ctx, r, throttle.High, hedgeAfter, func(ctx context.Context) (int, error) {
					running.Add(1)
					defer running.Add(-1)
					if retry.FromContext(ctx).Number == tt.panics {
						time.Sleep(200 * time.Millisecond)
						cancel() // ends the other attempt
						panic("broken")
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
				return nil
			}()
			if tt.panics > 0 && got != "broken" || tt.panics == 0 && (!errors.Is(err, context.Canceled) || time.Since(begun) != tt.cancel) || running.Load() != 0 {
				t.Errorf("%s: got panic %v, error %v after %v, %d running", name, got, err, time.Since(begun), running.Load())
			}
		})
	}
}

// TestHedge_CountersNeverFall reads the number of retries without hedges, which is a counter of the metrics,
// while hedges are made.
func TestHedge_CountersNeverFall(t *testing.T) {
	r := newRetrier(t, retry.Config{Budget: generous()})
	var done atomic.Bool
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for !done.Load() {
				_, _ = retry.Hedge(t.Context(), r, throttle.Medium, time.Nanosecond, func(ctx context.Context) (int, error) {
					if retry.FromContext(ctx).Number < 2 {
						time.Sleep(50 * time.Microsecond)
					}
					return 0, nil
				})
			}
		})
	}
	for range 20_000 {
		if s := r.Stats(); s.Sent != s.Hedged {
			t.Errorf("got %d retries and %d hedges want the same", s.Sent, s.Hedged)
			break
		}
	}
	done.Store(true)
	all.Wait()
}
