package backoff_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestDoneCountsOnce(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	for _, o := range []backoff.Outcome{backoff.Throttled, backoff.Success, backoff.Ignored, backoff.ThrottledFor(time.Second)} {
		backoff.Permit{}.Finish(o) // does nothing
	}
	var all []backoff.Permit
	for range 100 {
		p := wait(t, r)
		q := p
		p.Finish(backoff.Success)
		p.Finish(backoff.Throttled)
		q.Finish(backoff.Throttled)
		all = append(all, p)
	}
	for _, p := range all { // whose slips are long those of others
		fresh := wait(t, r)
		p.Finish(backoff.Throttled)
		fresh.Finish(backoff.Success)
	}
	if s := r.Stats(); s.Successes != 200 || s.Throttled != 0 || s.Ups != 0 {
		t.Errorf("got %+v want 200 successes, and nothing else", s)
	}
}

func TestDoneConcurrently(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	for n := range uint64(100) {
		atOnce(slices.Repeat([]backoff.Permit{wait(t, r)}, 8), func(p backoff.Permit) { p.Finish(backoff.Success); p.Finish(backoff.Ignored) })
		if s := r.Stats(); s.Successes+s.Ignored != n+1 {
			t.Fatalf("permit %d: got %+v want one call each", n, s)
		}
	}
}

func TestDoneAfterClose(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	p := wait(t, r)
	_ = r.Close()
	p.Finish(backoff.Throttled)
	if s := r.Stats(); s.Throttled != 1 || s.Ups != 1 {
		t.Errorf("got %+v want it counted", s)
	}
}

// TestDoRecordsTheOutcome covers functions that panic or end the goroutine.
func TestDoRecordsTheOutcome(t *testing.T) {
	fine := func(context.Context) (int, error) { return 7, nil }
	throttled := func(error) (backoff.Outcome, bool) { return backoff.Throttled, true }
	ignored := func(error) (backoff.Outcome, bool) { return backoff.Ignored, true }
	noOpinion := func(error) (backoff.Outcome, bool) { return backoff.Ignored, false }
	for _, tt := range []struct {
		name     string
		classify func(error) (backoff.Outcome, bool)
		f        func(context.Context) (int, error)
		want     string
	}{
		{"success", nil, fine, "1 0 0 7 <nil>"},
		{"ordinary error", nil, func(context.Context) (int, error) { return 1, faults.NotFound }, "1 0 0 1 " + faults.NotFound.Error()},
		{"throttled", nil, func(context.Context) (int, error) { return 1, faults.Unavailable(0) }, "0 1 0 1 " + faults.Unavailable(0).Error()},
		{"own classify", throttled, func(context.Context) (int, error) { return 1, faults.NotFound }, "0 1 0 1 " + faults.NotFound.Error()},
		{"a success", throttled, fine, "1 0 0 7 <nil>"},
		{"a mark comes first", ignored, func(context.Context) (int, error) { return 1, throttle.MarkRejected(faults.NotFound) }, "0 1 0 1 " + faults.NotFound.Error()},
		{"no opinion", noOpinion, func(context.Context) (int, error) { return 1, faults.Unavailable(0) }, "0 1 0 1 " + faults.Unavailable(0).Error()},
		{"f panics", nil, func(context.Context) (int, error) { panic("f") }, "0 0 1 panic f"},
		{"classify panics", func(error) (backoff.Outcome, bool) { panic("classify") }, func(context.Context) (int, error) { return 1, faults.NotFound }, "0 0 1 panic classify"},
		{"f exits", nil, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, "0 0 1 exit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := backoff.Must(backoff.New(backoff.Config{Name: "x", Classify: tt.classify}))
			ended := make(chan string, 1)
			go func() {
				end := "exit"
				defer func() {
					if p := recover(); p != nil {
						end = fmt.Sprint("panic ", p)
					}
					ended <- end
				}()
				v, err := backoff.Do(t.Context(), r, tt.f)
				end = fmt.Sprint(v, " ", err)
			}()
			end := <-ended
			s := r.Stats()
			equals(t, fmt.Sprintf("%d %d %d %s", s.Successes, s.Throttled, s.Ignored, end), tt.want, "successes, throttled, ignored, end")
		})
	}
}

func TestDoWithoutAFunction(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	_, err := backoff.Do[int](t.Context(), r, nil)
	if other := r.Do(t.Context(), nil); err == nil || other == nil || r.Stats().Ignored != 0 {
		t.Errorf("got %v, %v and %+v want two errors, and no call", err, other, r.Stats())
	}
}

// TestABurstIsOneStep wants one step of many calls that are throttled at once. Successes of the calls
// that began before that step do not count.
func TestABurstIsOneStep(t *testing.T) {
	eachMode(t, func(t *testing.T, mode backoff.Mode) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, DownMultiplierThreshold: 1}))
		for event := range uint64(3) {
			permits := make([]backoff.Permit, 512)
			for i := range permits {
				permits[i] = wait(t, r)
			}
			atOnce(permits[:256], func(p backoff.Permit) { p.Finish(backoff.Throttled) })
			atOnce(permits[256:], func(p backoff.Permit) { p.Finish(backoff.Success) })
			if s := r.Stats(); s.Ups != event+1 || s.Downs != 0 || s.Throttled != 256*(event+1) {
				t.Errorf("event %d: got %+v want one step up each, none down, 256 throttled", event, s)
			}
		}
	})
}

// TestSuccessesInARow wants that an ignored call neither counts as one nor restarts the count.
func TestSuccessesInARow(t *testing.T) {
	const up, ok, ign = backoff.Throttled, backoff.Success, backoff.Ignored
	for _, tt := range []struct {
		outcomes  []backoff.Outcome
		ups, down uint64
	}{
		{[]backoff.Outcome{up, ok, ign, ok, ign, ok}, 1, 1},
		{[]backoff.Outcome{up, -3, -1 << 63, ok, ok}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := backoff.Must(backoff.New(backoff.Config{
				Name: "x", InitialInterval: time.Second, DownMultiplierThreshold: 3, DownMultiplier: 0.99, UpInterval: time.Minute,
			}))
			wait(t, r).Finish(up) // the shortest delay, of which a step down makes 0
			for _, o := range tt.outcomes {
				wait(t, r).Finish(o)
			}
			if s := r.Stats(); s.Ups != 1+tt.ups || s.Downs != tt.down || s.Successes+s.Throttled+s.Ignored != uint64(1+len(tt.outcomes)) {
				t.Errorf("%v: got %+v want %d steps up, %d down", tt.outcomes, s, 1+tt.ups, tt.down)
			}
		})
	}
}
