package throttletest_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestNewBackendRefusesBadConfigs(t *testing.T) {
	tests := []struct {
		name string
		c    throttletest.BackendConfig
		want string // "" is none
	}{
		{"defaults", throttletest.BackendConfig{}, ""},
		{"lowest", throttletest.BackendConfig{Capacity: math.SmallestNonzeroFloat64, RejectionCost: math.SmallestNonzeroFloat64}, ""},
		{"highest", throttletest.BackendConfig{Capacity: 1e9, RejectionCost: 1, Latency: math.MaxInt64}, ""},
		{"Capacity negative", throttletest.BackendConfig{Capacity: -1}, "BackendConfig.Capacity is -1: want 0, which is no limit, to 1e9"},
		{"Capacity high", throttletest.BackendConfig{Capacity: 2e9}, "BackendConfig.Capacity is 2e+09: want 0, which is no limit, to 1e9"},
		{"Capacity NaN", throttletest.BackendConfig{Capacity: math.NaN()}, "BackendConfig.Capacity is NaN: want 0, which is no limit, to 1e9"},
		{"Capacity Inf", throttletest.BackendConfig{Capacity: math.Inf(1)}, "BackendConfig.Capacity is +Inf: want 0, which is no limit, to 1e9"},
		{"RejectionCost negative", throttletest.BackendConfig{RejectionCost: -0.1}, "BackendConfig.RejectionCost is -0.1: want more than 0, at most 1"},
		{"RejectionCost high", throttletest.BackendConfig{RejectionCost: 1.5}, "BackendConfig.RejectionCost is 1.5: want more than 0, at most 1"},
		{"RejectionCost NaN", throttletest.BackendConfig{RejectionCost: math.NaN()}, "BackendConfig.RejectionCost is NaN: want more than 0, at most 1"},
		{"Latency negative", throttletest.BackendConfig{Latency: -time.Second}, "BackendConfig.Latency is -1s: want 0s or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := throttletest.NewBackend(tt.c)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "throttletest: ")
			}
			if got != tt.want || (b == nil) != (err != nil) {
				t.Errorf("NewBackend() = %v, %q, want error %q", b, got, tt.want)
			}
		})
	}
}

func TestNewBackendNamesEveryFieldOutOfRange(t *testing.T) {
	_, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: -1, RejectionCost: -1, Latency: -1})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("NewBackend() = %v, want three lines", err)
	}
}

func TestSetCapacityTakesEffectAtOnce(t *testing.T) {
	b, clock := newBackend(t, throttletest.BackendConfig{RejectionCost: 1e-9})
	set := func(perSecond float64) {
		t.Helper()
		if err := b.SetCapacity(perSecond); err != nil {
			t.Fatal(err)
		}
	}
	set(1000)
	if got := calls(t, b, 200); got != 100 {
		t.Errorf("from no limit to 1000 a second: %d calls at once, want 100", got)
	}
	clock.Advance(50 * time.Millisecond) // at the old rate: 50 calls
	set(100)
	if got := calls(t, b, 200); got != 10 {
		t.Errorf("from 1000 to 100 a second: %d calls at once, want 10", got)
	}
	clock.Advance(time.Second)
	set(2000)
	if got := calls(t, b, 300); got != 10 {
		t.Errorf("from 100 to 2000 a second: %d calls at once, want the 10 saved up", got)
	}
	set(0)
	if got := calls(t, b, 1000); got != 1000 {
		t.Errorf("without a limit: %d of 1000 calls", got)
	}
}

func TestSettersRefuseBadValues(t *testing.T) {
	b, _ := newBackend(t, throttletest.BackendConfig{Capacity: 10})
	for _, capacity := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 2e9} {
		if err := b.SetCapacity(capacity); err == nil {
			t.Errorf("SetCapacity(%v) gave no error", capacity)
		}
	}
	if err := b.SetLatency(-1); err == nil {
		t.Error("SetLatency(-1ns) gave no error")
	}
	if got := calls(t, b, 10); got != 1 {
		t.Errorf("%d calls served after refused settings, want 1 as before", got)
	}
}

// TestBackendIsSafeForConcurrentUse switches everything while many goroutines call.
func TestBackendIsSafeForConcurrentUse(t *testing.T) {
	b := mustBackend(t, throttletest.BackendConfig{Capacity: 1e6})
	const workers, each = 64, 500
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for call := range each {
				_ = b.Call(t.Context())
				switch (worker + call) % 50 {
				case 0:
					b.SetOutage(call%2 == 0)
				case 1:
					_ = b.SetCapacity(float64(call))
				case 2:
					_ = b.SetLatency(time.Duration(call%3) * time.Microsecond)
				case 3:
					b.Fail(errors.New("no"))
				case 4:
					b.Fail(nil)
				}
			}
		})
	}
	wg.Wait()
	if got := b.Stats(); got.Calls() != workers*each || got.Active != 0 || got.Canceled != 0 {
		t.Errorf("Stats() = %+v, %d calls, want %d, none active or canceled", got, got.Calls(), workers*each)
	}
	if got := b.Stats(); got.Rejected != b.Rejected() || got.Served != b.Served() {
		t.Errorf("Served() = %d, Rejected() = %d, want those of %+v", b.Served(), b.Rejected(), got)
	}
}

// FuzzBackend: NewBackend returns an error, or a backend that never serves more than it can.
func FuzzBackend(f *testing.F) {
	f.Add(0.0, 0.0, int64(time.Second))
	f.Add(100.0, 0.1, int64(time.Millisecond))
	f.Add(1e9, 1.0, int64(1))
	f.Add(0.001, 1e-300, int64(time.Hour))
	f.Add(math.NaN(), math.Inf(1), int64(-1))
	f.Fuzz(func(t *testing.T, capacity, cost float64, step int64) {
		clock := throttletest.NewClock(time.Unix(0, 0))
		b, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: capacity, RejectionCost: cost, Now: clock.Now})
		if err != nil {
			if b != nil {
				t.Fatal("both a backend and an error")
			}
			return
		}
		latest, past := clock.Now(), clock.Now()
		for i := range 100 {
			clock.Advance(time.Duration(step) * time.Duration(i%3-1) % time.Hour)
			if now := clock.Now(); now.After(latest) {
				latest = now
			}
			_ = b.Call(t.Context())
		}
		got := b.Stats()
		if got.Calls() != 100 {
			t.Fatalf("%+v after 100 calls", got)
		}
		if most := latest.Sub(past).Seconds()*capacity + max(1, capacity/10) + 1e-6; capacity > 0 && float64(got.Served) > most {
			t.Fatalf("%d calls served, at most %v could be", got.Served, most)
		}
	})
}
