package backoff

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestTune_endsALongDelay(t *testing.T) {
	for _, mode := range []Mode{Pace, Sleep} {
		synctest.Test(t, func(t *testing.T) {
			r := Must(New(Config{Name: "table", Mode: mode, InitialInterval: time.Minute, MaxInterval: time.Hour, RandomizationFactor: -1}))
			defer r.Close()
			for range 30 {
				p, err := r.Wait(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				p.Finish(Throttled)
			}
			if r.Delay() != time.Hour {
				t.Fatalf("%v: got a delay of %v", mode, r.Delay())
			}
			p, _ := r.Wait(t.Context())
			p.Finish(ThrottledFor(time.Hour))
			begin := time.Now()
			time.AfterFunc(time.Second, func() {
				if err := r.Override(throttle.SourceFile, Patch{MaxInterval: new(throttle.Duration(2 * time.Minute))}); err != nil {
					t.Error(err)
				}
			})
			p, err := r.Wait(t.Context())
			if waited := time.Since(begin); err != nil || waited > 2*time.Minute+time.Second {
				t.Errorf("%v: waited %v, %v want at most 2m", mode, waited, err)
			}
			p.Finish(Throttled)
			if r.Delay() != 2*time.Minute {
				t.Errorf("%v: got a delay of %v want 2m", mode, r.Delay())
			}
			if err := r.Override(throttle.SourceFile, Patch{}); err != nil {
				t.Error(err)
			}
			p, _ = r.Wait(t.Context())
			if p.Finish(Throttled); r.Delay() <= 2*time.Minute {
				t.Errorf("%v: after the override: got a delay of %v want it to grow again", mode, r.Delay())
			}
		})
	}
}

func TestTune_values(t *testing.T) {
	r, none := Must(New(Config{Name: "table", InitialInterval: time.Second})), (*Responsive)(nil)
	wrong := Patch{MaxInterval: new(throttle.Duration(time.Millisecond))}
	for _, err := range []error{r.Tune(wrong), r.Override(throttle.SourceFile, wrong)} {
		if err == nil || !strings.Contains(err.Error(), "backoff: Patch.MaxInterval is 1ms: want at least InitialInterval (1s), at most 24h") {
			t.Errorf("got %v", err)
		}
	}
	now, code := none.Tuning()
	for _, err := range []error{Patch{MaxInterval: new(throttle.Duration(1))}.Validate(), none.Tune(Patch{}), none.Override(throttle.SourceFile, Patch{})} {
		if err == nil || now != code {
			t.Error("got no error")
		}
	}
	if err := r.Tune(Patch{MaxInterval: new(throttle.Duration(time.Minute))}); err != nil {
		t.Error(err)
	}
	if now, code := r.Tuning(); now.MaxInterval != time.Minute || code != now {
		t.Errorf("got %v and %v", now, code)
	}
}
