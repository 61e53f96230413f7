package throttletest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// newThrottle returns a throttle with the hooks of rec, which sheds every call with a probability above 0.
func newThrottle(t *testing.T, rec *throttletest.Recorder) *throttle.Throttle {
	t.Helper()
	return throttle.Must(throttle.New(throttle.Config{Name: "backend", Hooks: rec.Hooks(), Rand: throttletest.Always(0)}))
}

// TestHooksRecordEveryEvent fails if throttle.Hooks gets a field that the recorder does not set. Announced is about a
// name, and not an event of a throttle.
func TestHooksRecordEveryEvent(t *testing.T) {
	hooks := reflect.ValueOf(throttletest.NewRecorder().Hooks())
	fields := 0
	for i := range hooks.NumField() {
		if hooks.Field(i).Kind() != reflect.Func || hooks.Type().Field(i).Name == "Announced" {
			continue
		}
		fields++
		if hooks.Field(i).IsNil() {
			t.Errorf("the recorder does not set %s", hooks.Type().Field(i).Name)
		}
	}
	equal(t, "fields of throttle.Hooks, one for each kind", fields, int(throttletest.KindPolicyChanged)+1)
}

func TestRecorderKeepsTheOrderAndTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, rec)
		errDown := errors.New("down")
		succeed := func(context.Context) error { return nil }
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return throttle.MarkRejected(errDown) })
		time.Sleep(time.Second) // the next decision knows of it
		_ = th.Do(t.Context(), throttle.High, succeed, func(context.Context, error, bool) error { return nil })
		_ = th.Do(t.Context(), throttle.Low, succeed)
		_ = th.Close()

		var kinds []string
		for _, e := range rec.Events() {
			kinds = append(kinds, e.Kind.String())
			equal(t, e.Kind.String(), e.Throttle, th)
		}
		equal(t, "events", strings.Join(kinds, ", "), "created, started, finished, shed, fell back, started, finished, closed")
		if got := rec.Started(); len(got) != 2 || got[0].Priority != throttle.High || got[1].Priority != throttle.Low {
			t.Errorf("Started: got %+v want a high one and a low one", got)
		}
		if got := rec.Finished(); len(got) != 2 || !errors.Is(got[0].Err, errDown) || got[1].Outcome != throttle.Accepted {
			t.Errorf("Finished: got %+v want a rejected one and an accepted one", got)
		}
		if got := rec.Shed(); len(got) != 1 || got[0].Throttle != th || got[0].Priority != throttle.High {
			t.Errorf("Shed: got %+v want a high one", got)
		}
	})
}

func TestEventsBeyondTheLimitAreCountedButNotKept(t *testing.T) {
	for _, tt := range []struct{ limit, want int }{{0, 7}, {3, 3}, {7, 7}, {100, 7}, {-1, 0}} {
		rec := &throttletest.Recorder{Limit: tt.limit}
		th := newThrottle(t, rec)
		for range 3 {
			_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return nil })
		}
		events := rec.Events()
		equal(t, fmt.Sprint("events kept with limit ", tt.limit), len(events), tt.want)
		if tt.want > 0 && events[0].Kind != throttletest.KindCreated {
			t.Errorf("limit %d: the oldest event is %v, want the first", tt.limit, events[0].Kind)
		}
		equal(t, fmt.Sprint("started with limit ", tt.limit), rec.Count(throttletest.KindStarted), 3)
	}
}

func TestRecorder_keepsCopies(t *testing.T) {
	rec := &throttletest.Recorder{Limit: 2}
	th := newThrottle(t, rec)
	rec.Events()[0].Kind = throttletest.KindShed
	want := throttle.PolicyEvent{Throttle: th, After: throttle.PolicyState{Alert: throttle.RatioAlert}}
	rec.Hooks().PolicyChanged(t.Context(), want)
	if got := rec.Events(); len(got) != 2 || got[0].Kind != throttletest.KindCreated || got[1].PolicyChanged != want {
		t.Errorf("got %v want created and %v", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	equal(t, "context of Started", rec.Hooks().Started(ctx, throttle.StartEvent{}), ctx)
	equal(t, "an unknown kind", throttletest.Kind(7).String(), "kind(7)")
	rec.Reset()
	_ = th.Close()
	for kind, want := range map[throttletest.Kind]int{throttletest.KindCreated: 0, throttletest.KindClosed: 1, 200: 0} {
		equal(t, fmt.Sprint("Count after Reset of ", kind), rec.Count(kind), want)
	}
}

// TestRecorder_parallel: one recorder, several throttles, many goroutines, and readers among them.
func TestRecorder_parallel(t *testing.T) {
	const workers, each = 32, 50
	rec := throttletest.NewRecorder()
	var all sync.WaitGroup
	for range workers {
		th := newThrottle(t, rec)
		all.Go(func() {
			for range each {
				_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return nil })
			}
			_, _ = rec.Events(), rec.Finished()
		})
	}
	all.Wait()
	for _, k := range []throttletest.Kind{throttletest.KindStarted, throttletest.KindFinished} {
		equal(t, fmt.Sprint("Count of ", k), rec.Count(k), workers*each)
	}
	equal(t, "events", len(rec.Events()), workers*(2*each+1))
}
