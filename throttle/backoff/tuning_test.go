package backoff_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestTune_endsALongDelay(t *testing.T) {
	eachMode(t, func(t *testing.T, mode backoff.Mode) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", Mode: mode, InitialInterval: time.Minute, MaxInterval: time.Hour, RandomizationFactor: -1}))
		defer r.Close()
		for range 30 {
			wait(t, r).Finish(backoff.Throttled)
		}
		equals(t, r.Delay(), time.Hour, "%v: the delay", mode)
		wait(t, r).Finish(backoff.ThrottledFor(time.Hour))
		begin := time.Now()
		time.AfterFunc(time.Second, func() {
			_ = r.Override(throttle.SourceFile, backoff.Patch{MaxInterval: new(throttle.Duration(2 * time.Minute))}) // else it waits for an hour
		})
		p, err := r.Wait(t.Context())
		if waited := time.Since(begin); err != nil || waited > 2*time.Minute+time.Second {
			t.Errorf("%v: waited %v, %v want at most 2m", mode, waited, err)
		}
		p.Finish(backoff.Throttled)
		equals(t, r.Delay(), 2*time.Minute, "%v: the delay", mode)
		must(t, r.Override(throttle.SourceFile, backoff.Patch{}))
		if wait(t, r).Finish(backoff.Throttled); r.Delay() <= 2*time.Minute {
			t.Errorf("%v: after the override: got a delay of %v want it to grow again", mode, r.Delay())
		}
	})
}

// TestTune_endsReservedTurns wants that turns which callers of NextBackOff reserved do not outlast a lower MaxInterval.
func TestTune_endsReservedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", InitialInterval: 10 * time.Second, MaxInterval: time.Hour}))
		defer r.Close()
		var all []*backoff.BackOff
		for range 20 {
			all = append(all, r.BackOff())
		}
		for _, b := range all { // only the first makes a step: the delay is not above the new MaxInterval
			b.NextBackOff()
		}
		if err := r.Tune(backoff.Patch{MaxInterval: new(throttle.Duration(10 * time.Second))}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if wait(t, r); time.Since(begun) > 10*time.Second {
			t.Errorf("waited %v want at most 10s", time.Since(begun))
		}
	})
}

func TestTune_values(t *testing.T) {
	r, none := backoff.Must(backoff.New(backoff.Config{Name: "table", InitialInterval: time.Second})), (*backoff.Responsive)(nil)
	wrong := backoff.Patch{MaxInterval: new(throttle.Duration(time.Millisecond))}
	for _, err := range []error{r.Tune(wrong), r.Override(throttle.SourceFile, wrong)} {
		if err == nil || !strings.Contains(err.Error(), "backoff: Patch.MaxInterval is 1ms: want at least InitialInterval (1s), at most 24h") {
			t.Errorf("got %v", err)
		}
	}
	now, code := none.Tuning()
	short, empty := backoff.Patch{MaxInterval: new(throttle.Duration(1))}, backoff.Patch{}
	for _, err := range []error{short.Validate(), none.Tune(empty), none.Override(throttle.SourceFile, empty)} {
		if err == nil || now != code {
			t.Error("got no error")
		}
	}
	must(t, r.Tune(backoff.Patch{MaxInterval: new(throttle.Duration(time.Minute))}))
	if now, code := r.Tuning(); now.MaxInterval != time.Minute || code != now {
		t.Errorf("got %v and %v", now, code)
	}
}
