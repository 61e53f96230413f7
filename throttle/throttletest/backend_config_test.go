package throttletest_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestInvalidBackendConfig(t *testing.T) {
	tests := []struct {
		name string
		c    throttletest.BackendConfig
		want string // "" is none
	}{
		{"defaults", throttletest.BackendConfig{}, ""},
		{"lowest", throttletest.BackendConfig{Capacity: math.SmallestNonzeroFloat64, RejectionCost: math.SmallestNonzeroFloat64}, ""},
		{"highest", throttletest.BackendConfig{Capacity: 1e9, RejectionCost: 1, Latency: math.MaxInt64}, ""},
		{"Capacity negative", throttletest.BackendConfig{Capacity: -1}, "BackendConfig.Capacity is -1: want 0 for no limit, at most 1e9"},
		{"Capacity high", throttletest.BackendConfig{Capacity: 2e9}, "BackendConfig.Capacity is 2e+09: want 0 for no limit, at most 1e9"},
		{"Capacity NaN", throttletest.BackendConfig{Capacity: math.NaN()}, "BackendConfig.Capacity is NaN: want 0 for no limit, at most 1e9"},
		{"Capacity Inf", throttletest.BackendConfig{Capacity: math.Inf(1)}, "BackendConfig.Capacity is +Inf: want 0 for no limit, at most 1e9"},
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

func TestInvalidBackendConfigInEveryField(t *testing.T) {
	_, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: -1, RejectionCost: -1, Latency: -1})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("NewBackend() = %v, want three lines", err)
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
