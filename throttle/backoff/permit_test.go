package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestAPermitCountsOnce, however often it is done, and whoever has a copy.
func TestAPermitCountsOnce(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	for _, o := range []backoff.Outcome{backoff.Throttled, backoff.Success, backoff.Ignored, backoff.ThrottledFor(time.Second)} {
		backoff.Permit{}.Done(o) // does nothing
	}
	var all []backoff.Permit
	for range 100 {
		p := wait(t, r)
		q := p
		p.Done(backoff.Success)
		p.Done(backoff.Throttled)
		q.Done(backoff.Throttled)
		all = append(all, p)
	}
	for _, p := range all { // whose slips are long those of others
		fresh := wait(t, r)
		p.Done(backoff.Throttled)
		fresh.Done(backoff.Success)
	}
	if s := r.Stats(); s.Successes != 200 || s.Throttled != 0 || s.Ups != 0 {
		t.Errorf("got %+v want 200 successes, and nothing else", s)
	}
}

// TestAPermitDoneByMany at once counts once.
func TestAPermitDoneByMany(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	for n := range uint64(100) {
		p := wait(t, r)
		copies := []backoff.Permit{p, p, p, p, p, p, p, p}
		atOnce(copies, func(p backoff.Permit) { p.Done(backoff.Success); p.Done(backoff.Ignored) })
		if s := r.Stats(); s.Successes+s.Ignored != n+1 {
			t.Fatalf("permit %d: got %+v want one call each", n, s)
		}
	}
}

// TestPermitsNeverDone harm nobody: the next are let through, in every mode.
func TestPermitsNeverDone(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		synctest.Test(t, func(t *testing.T) {
			r := slow(t, backoff.Config{Mode: mode}, time.Second)
			begun := time.Now()
			for range 100 {
				wait(t, r)
			}
			if got := time.Since(begun); got != 100*time.Second {
				t.Errorf("%v: 100 turns: got %v want 100s", mode, got)
			}
		})
	}
}

func TestDoneAfterClose(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	p := wait(t, r)
	_ = r.Close()
	p.Done(backoff.Throttled)
	if s := r.Stats(); s.Throttled != 1 || s.Ups != 1 {
		t.Errorf("got %+v want it counted", s)
	}
}

// TestDoTellsWhatBecameOfTheCall tells what became of it, also of what panics or ends the goroutine.
func TestDoTellsWhatBecameOfTheCall(t *testing.T) {
	fine := func(context.Context) (int, error) { return 7, nil }
	throttled := func(error) backoff.Outcome { return backoff.Throttled }
	for _, tt := range []struct {
		name     string
		classify func(error) backoff.Outcome
		f        func(context.Context) (int, error)
		want     string
	}{
		{"success", nil, fine, "1 0 0 7 <nil>"},
		{"ordinary error", nil, func(context.Context) (int, error) { return 1, faults.NotFound }, "1 0 0 1 " + faults.NotFound.Error()},
		{"throttled", nil, func(context.Context) (int, error) { return 1, faults.Unavailable(0) }, "0 1 0 1 " + faults.Unavailable(0).Error()},
		{"own classify", throttled, fine, "0 1 0 7 <nil>"},
		{"f panics", nil, func(context.Context) (int, error) { panic("f") }, "0 0 1 panic f"},
		{"classify panics", func(error) backoff.Outcome { panic("classify") }, fine, "0 0 1 panic classify"},
		{"f exits", nil, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, "0 0 1 exit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
			ended := make(chan string, 1)
			go func() {
				end := "exit"
				defer func() {
					if p := recover(); p != nil {
						end = fmt.Sprint("panic ", p)
					}
					ended <- end
				}()
				v, err := backoff.Do(t.Context(), r, tt.classify, tt.f)
				end = fmt.Sprint(v, " ", err)
			}()
			end := <-ended
			s := r.Stats()
			if got := fmt.Sprintf("%d %d %d %s", s.Successes, s.Throttled, s.Ignored, end); got != tt.want {
				t.Errorf("successes, throttled, ignored, end: got %q want %q", got, tt.want)
			}
		})
	}
}

func TestDoDoesNotCallWithoutATurn(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	_ = r.Close()
	v, err := backoff.Do(t.Context(), r, nil, func(context.Context) (int, error) { t.Error("f was called"); return 1, nil })
	if v != 0 || !errors.Is(err, backoff.ErrClosed) {
		t.Errorf("got %v, %v want 0, %v", v, err, backoff.ErrClosed)
	}
}

// TestRetryAfter is kept by all, up to MaxInterval, however long it is.
func TestRetryAfter(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for _, tt := range []struct{ after, want time.Duration }{
			{10 * time.Second, 10 * time.Second},
			{time.Minute, time.Minute},
			{10000 * 24 * time.Hour, time.Minute},
			{1<<63 - 1, time.Minute},
			{0, time.Second},
			{-time.Hour, time.Second},
			{1, time.Second},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, InitialInterval: time.Second, MaxInterval: time.Minute, RandomizationFactor: -1}))
				wait(t, r).Done(backoff.Ignored)
				if mode == backoff.Pace { // the first delay counts from the last turn, which is not noted without a delay
					wait(t, r).Done(backoff.Throttled)
					wait(t, r)
				}
				wait(t, r).Done(backoff.ThrottledFor(tt.after))
				begun := time.Now()
				wait(t, r)
				got := time.Since(begun)
				want := tt.want
				if mode == backoff.Pace && want == time.Second {
					want = 1250 * time.Millisecond
				}
				if got != want {
					t.Errorf("%v, ThrottledFor(%v): got a turn after %v want %v", mode, tt.after, got, want)
				}
			})
		}
	}
}

// TestAShorterRetryAfterDoesNotShorten a longer one, and one of an older step counts too.
func TestAShorterRetryAfterDoesNotShorten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", RandomizationFactor: -1}))
		a, b, c := wait(t, r), wait(t, r), wait(t, r)
		a.Done(backoff.Throttled)
		b.Done(backoff.ThrottledFor(20 * time.Second))
		c.Done(backoff.ThrottledFor(5 * time.Second))
		begun := time.Now()
		wait(t, r)
		if got := time.Since(begun); got != 20*time.Second {
			t.Errorf("got a turn after %v want 20s", got)
		}
	})
}

func TestOutcomeWords(t *testing.T) {
	for o, want := range map[backoff.Outcome]string{
		backoff.Ignored: "ignored", backoff.Success: "success", backoff.Throttled: "throttled",
		backoff.ThrottledFor(1): "throttled", backoff.ThrottledFor(-1): "throttled", -3: "outcome(-3)", -1 << 63: "outcome(-9223372036854775808)", 1<<63 - 1: "throttled",
	} {
		if got := o.String(); got != want {
			t.Errorf("%d: got %q want %q", int64(o), got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want backoff.Outcome
	}{
		{nil, backoff.Success},
		{errors.New("ordinary"), backoff.Success},
		{faults.NotFound, backoff.Success},
		{faults.Unavailable(0), backoff.Throttled},
		{faults.Unavailable(3 * time.Second), backoff.ThrottledFor(3 * time.Second)},
		{faults.Unavailable(-3 * time.Second), backoff.Throttled},
		{fmt.Errorf("put: %w", faults.WithUnavailable(errors.New("x"), time.Second)), backoff.ThrottledFor(time.Second)},
		{faults.ResourceExhausted(), backoff.Throttled},
		{context.DeadlineExceeded, backoff.Throttled},
		{context.Canceled, backoff.Ignored},
		{throttle.ErrShed, backoff.Ignored},
		{fmt.Errorf("x: %w", throttle.ErrShed), backoff.Ignored},
		{bucket.ErrDenied, backoff.Ignored},
		{errors.Join(bucket.ErrDenied, faults.Unavailable(time.Second)), backoff.Ignored},
	} {
		if got := backoff.Classify(tt.err); got != tt.want {
			t.Errorf("Classify(%v): got %v (%d) want %v (%d)", tt.err, got, int64(got), tt.want, int64(tt.want))
		}
	}
}

// TestHooksTellWhatStatsCount adds up what the hooks are told.
func TestHooksTellWhatStatsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var log strings.Builder
		var made *backoff.Responsive
		note := backoff.Hooks{
			Created: func(r *backoff.Responsive) { made = r; fmt.Fprint(&log, "made ") },
			Closed:  func(*backoff.Responsive) { fmt.Fprint(&log, "closed") },
			Stepped: func(e backoff.StepEvent) { fmt.Fprint(&log, e.From, ">", e.To, " ", e.Up(), " ") },
			Slept: func(ctx context.Context, e backoff.SleepEvent) {
				fmt.Fprint(&log, ctx.Value(key{}), " slept ", e.Duration, " ", e.Err, " ")
			},
		}
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Second, RandomizationFactor: -1, DownMultiplierThreshold: 1, Hooks: backoff.JoinHooks(backoff.Hooks{}, note, backoff.Hooks{}),
		}))
		ctx := context.WithValue(t.Context(), key{}, "me")
		wait(t, r).Done(backoff.Throttled)
		p, _ := r.Wait(ctx)
		p.Done(backoff.Success)
		ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		wait(t, r)
		_, _ = r.Wait(ctx)
		_ = r.Close()
		if want := "made 0s>1s true me slept 1s <nil> 1s>0s false closed"; log.String() != want || made != r {
			t.Errorf("got %q want %q", log.String(), want)
		}
	})
}
