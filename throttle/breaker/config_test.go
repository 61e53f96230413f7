package breaker_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestNewRefusesBadConfigs(t *testing.T) {
	shared := newMeddler(breaker.NewMemoryStore())
	tests := []struct {
		name string
		c    breaker.Config
		want string // "" is none
	}{
		{"defaults", breaker.Config{Name: "x"}, ""},
		{"name missing", breaker.Config{}, "Config.Name is missing: want 1 to 255 bytes"},
		{"name long", breaker.Config{Name: strings.Repeat("x", 256)}, "Config.Name is"},
		{"SampleRate negative", breaker.Config{SampleRate: -1}, "Config.SampleRate is -1ns: want 1ms to 360h0m0s"},
		{"SampleRate short", breaker.Config{SampleRate: time.Millisecond - 1}, "Config.SampleRate is 999.999µs: want 1ms to 360h0m0s"},
		{"SampleRate shortest", breaker.Config{SampleRate: time.Millisecond}, ""},
		{"SampleRate long", breaker.Config{SampleRate: 30*24*time.Hour + 1}, "Config.SampleRate is"},
		{"window short", breaker.Config{SampleRate: time.Minute, ObservabilityWindow: 2*time.Minute - 1}, "Config.ObservabilityWindow is 1m59.999999999s: want 2m0s to"},
		{"window shortest", breaker.Config{SampleRate: time.Minute, ObservabilityWindow: 2 * time.Minute}, ""},
		{"Refresh", breaker.Config{Refresh: -time.Second}, "Config.Refresh is -1s"},
		{"MaxStale", breaker.Config{Refresh: time.Second, MaxStale: 2*time.Second - 1}, "Config.MaxStale is 1.999999999s: want 2s to"},
		{"OnStale", breaker.Config{OnStale: 3}, "Config.OnStale is 3: want FailOpen, KeepLast or FailClosed"},
		{"StoreTimeout", breaker.Config{StoreTimeout: time.Microsecond}, "Config.StoreTimeout is 1µs"},
		{"PollTimeout", breaker.Config{PollTimeout: -1}, "Config.PollTimeout is -1ns"},
		{"NotifyTimeout", breaker.Config{NotifyTimeout: -1}, "Config.NotifyTimeout is -1ns"},
		{"Retention", breaker.Config{Retention: 9 * time.Minute}, "Config.Retention is 9m0s: want at least 10m0s"},
		{"Retention least", breaker.Config{Retention: 10 * time.Minute}, ""},
		{"BreakerTimeout", breaker.Config{BreakerTimeout: -1}, "Config.BreakerTimeout is -1ns"},
		{"MaxBreakerTimeout", breaker.Config{BreakerTimeout: time.Minute, MaxBreakerTimeout: time.Second}, "Config.MaxBreakerTimeout is 1s: want 1m0s to"},
		{"Jitter NaN", breaker.Config{Jitter: math.NaN()}, "Config.Jitter is NaN: want 0 to 0.5"},
		{"Jitter high", breaker.Config{Jitter: 0.51}, "Config.Jitter is 0.51"},
		{"FailureThreshold NaN", breaker.Config{FailureThreshold: math.NaN()}, "Config.FailureThreshold is NaN: want more than 0, at most 100 (percent)"},
		{"FailureThreshold share", breaker.Config{FailureThreshold: 0.7, SuccessThreshold: 99.9}, ""},
		{"FailureThreshold high", breaker.Config{FailureThreshold: 101}, "Config.FailureThreshold is 101"},
		{"thresholds overlap", breaker.Config{FailureThreshold: 70, SuccessThreshold: 5}, "Config.SuccessThreshold is 5: want more than 100 - FailureThreshold = 30"},
		{"thresholds meet", breaker.Config{FailureThreshold: 70, SuccessThreshold: 30}, "Config.SuccessThreshold is 30: want more than"},
		{"thresholds apart", breaker.Config{FailureThreshold: 70, SuccessThreshold: 30.1}, ""},
		{"thresholds at half", breaker.Config{FailureThreshold: 50, SuccessThreshold: 50}, "Config.SuccessThreshold is 50: want more than"},
		{"thresholds far apart", breaker.Config{FailureThreshold: 100, SuccessThreshold: 0.1}, ""},
		{"long times", breaker.Config{BreakerTimeout: 30 * 24 * time.Hour}, ""},
		{"long SampleRate", breaker.Config{SampleRate: 264 * time.Hour}, ""},
		{"SuccessThreshold high", breaker.Config{SuccessThreshold: 100.1}, "Config.SuccessThreshold is 100.1"},
		{"SuccessThreshold Inf", breaker.Config{SuccessThreshold: math.Inf(1)}, "Config.SuccessThreshold is +Inf"},
		{"MinimumRequestCount", breaker.Config{MinimumRequestCount: -1}, "Config.MinimumRequestCount is -1: want 1 to 1e9"},
		{"ConsecutiveFailureThreshold", breaker.Config{ConsecutiveFailureThreshold: -1}, "Config.ConsecutiveFailureThreshold is -1: want 0 (never) to 1e6"},
		{"never disabled", breaker.Config{ConsecutiveFailureThreshold: 3, SampleRate: time.Minute, ConsecutiveResetAfter: time.Minute}, "Config.ConsecutiveResetAfter is 1m0s: want more than SampleRate = 1m0s: otherwise trips are forgotten"},
		{"default too short for SampleRate", breaker.Config{ConsecutiveFailureThreshold: 3, BreakerTimeout: time.Second, SampleRate: time.Minute}, "Config.ConsecutiveFailureThreshold is 3: want a ConsecutiveResetAfter of more than SampleRate = 1m0s"},
		{"FailureThreshold without SuccessThreshold", breaker.Config{FailureThreshold: 30}, "Config.FailureThreshold is 30: want more than 40, or a SuccessThreshold of more than 70"},
		{"Refresh without MaxStale", breaker.Config{Refresh: time.Hour}, "Config.Refresh is 1h0m0s: want at most 30s, half of the default of MaxStale"},
		{"SampleRate too long for the longest window", breaker.Config{SampleRate: 20 * 24 * time.Hour}, "Config.SampleRate is 480h0m0s: want"},
		{"Mode", breaker.Config{Mode: 3}, "Config.Mode is 3: want ModeEnforce, ModeShadow or ModeOff"},
		{"HalfOpenProbes", breaker.Config{HalfOpenProbes: -1}, "Config.HalfOpenProbes is -1: want 1 to 1e6"},
		{"HalfOpenMax", breaker.Config{HalfOpenMax: time.Second}, "Config.HalfOpenMax is 1s: want 5s to 1m0s, SampleRate to ObservabilityWindow"},
		{"MinReporters", breaker.Config{MinReporters: -1}, "Config.MinReporters is -1"},
		{"several", breaker.Config{SampleRate: -1, Jitter: 2}, "Config.SampleRate is -1ns: want 1ms to 360h0m0s\nbreaker: Config.Jitter is 2: want 0 to 0.5"},
		{"shared store without a poll", breaker.Config{Store: shared}, "Config.Poll is missing: want a poll"},
		{"shared store with a counter", breaker.Config{Store: shared, Counter: breaker.NewCounter(time.Minute)}, ""},
		{"zero counter", breaker.Config{Counter: &breaker.Counter{}, Poll: failingAll(1)}, "Config.Counter is a zero Counter: want one of NewCounter"},
		{"zero store", breaker.Config{Store: &breaker.MemoryStore{}}, "Config.Store is a nil or zero MemoryStore: want one of NewMemoryStore"},
		{"nil store with a type", breaker.Config{Store: (*breaker.MemoryStore)(nil)}, "Config.Store is a nil or zero MemoryStore"},
		{"counter of another window", breaker.Config{Counter: breaker.NewCounter(time.Hour)}, "Config.Counter is a counter of 1h0m0s: want one of ObservabilityWindow = 1m0s"},
	}
	for _, span := range []time.Duration{math.MinInt64, -1, 1 << 62, math.MaxInt64} { // each is an error of its own field only
		c := breaker.Config{
			Name: "x", ObservabilityWindow: time.Minute, Refresh: time.Second, MaxBreakerTimeout: time.Hour, ConsecutiveFailureThreshold: 3, HalfOpenMax: time.Minute,
		}
		slow, open := c, c
		slow.SampleRate, open.BreakerTimeout = span, span
		for field, c := range map[string]breaker.Config{"SampleRate": slow, "BreakerTimeout": open} {
			want := fmt.Sprintf("breaker: Config.%s is %v: want 1ms to ", field, span)
			if _, err := breaker.New(c); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %d: got %v want %s", field, span, err, want)
			}
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.c.Name == "" && tt.name != "name missing" {
				tt.c.Name = "x"
			}
			m, err := breaker.New(tt.c)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case tt.want != "" && (err == nil || m != nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, %v\nwant %s", m, err, tt.want)
			}
		})
	}
}

// TestModes lets the same circuit fail in each mode, with Run and without.
func TestModes(t *testing.T) {
	k := breaker.Key{ID: "k"}
	for _, tt := range []struct {
		mode             throttle.Mode
		err              error // of a call after the failures
		changes, shadows uint64
		state            breaker.State
	}{
		{throttle.ModeEnforce, breaker.ErrOpen, 1, 0, breaker.Open},
		{throttle.ModeShadow, nil, 1, 1, breaker.Open},
		{throttle.ModeOff, nil, 0, 0, breaker.Closed},
	} {
		counts := func(s breaker.Stats) bool {
			var sum breaker.CallStats
			for _, c := range s.Calls {
				sum.Admitted, sum.Shed, sum.ShadowShed = sum.Admitted+c.Admitted, sum.Shed+c.Shed, sum.ShadowShed+c.ShadowShed
			}
			return s.Mode == tt.mode && s.Changes[breaker.Open] == tt.changes && sum.ShadowShed == tt.shadows && sum.Admitted+sum.Shed == 11
		}
		for name, begin := range map[string]step{"with Run": runs, "without Run": wait(0)} {
			play(t, scenario{
				name: fmt.Sprint(tt.mode, " ", name), memory: true, config: breaker.Config{Mode: tt.mode},
				steps: steps(begin, fail(10, k), wait(5*time.Second+1), sheds(tt.err, k), is(tt.state, int(tt.changes), k), shows("has counted", counts),
					func(s *scene) {
						equals(s, s.actor().Status(k).Shadow, tt.mode == throttle.ModeShadow, "Shadow")
					}),
			})
		}
	}
}

// TestModeOffLetsEverythingThrough whatever the store has, and if it is stale. Its circuits are still there afterwards.
func TestModeOffLetsEverythingThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := breaker.NewMemoryStore()
		on := agent(t, breaker.Config{Store: s, Poll: polled(breaker.PollResult{Failures: 20})})
		defer on.Close()
		sample(t, on)
		off := agent(t, breaker.Config{Store: s, Mode: throttle.ModeOff, OnStale: breaker.FailClosed})
		defer off.Close()
		a, b := breaker.Key{ID: "a"}, breaker.Key{ID: "b"}
		wants(t, errors.Join(off.CanExecute(t.Context(), a), off.Disable(t.Context(), b), off.CanExecute(t.Context(), b)), nil, "in ModeOff")
		time.Sleep(3 * time.Second)
		if err := errors.Join(off.Sample(t.Context()), off.CanExecute(t.Context(), a)); err != nil && !errors.Is(err, breaker.ErrNotLeading) {
			t.Errorf("after a round: got %v, want nil", err)
		}
		must(t, on.Refresh(t.Context()))
		wants(t, on.CanExecute(t.Context(), a), breaker.ErrOpen, "enforcing")
		wants(t, on.CanExecute(t.Context(), b), breaker.ErrDisabled, "enforcing, by hand")
	})
}
