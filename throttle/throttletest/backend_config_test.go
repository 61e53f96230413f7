package throttletest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestNewBackend_validates(t *testing.T) {
	type config = throttletest.BackendConfig
	for _, tt := range []struct {
		field, want string
		set         func(*config, float64)
		good, bad   []float64
	}{
		{
			"Capacity", "0 for no limit, at most 1e9", func(c *config, v float64) { c.Capacity = v },
			[]float64{0, math.SmallestNonzeroFloat64, 1e9},
			[]float64{-1, 2e9, math.NaN(), math.Inf(1)},
		},
		{
			"RejectionCost", "more than 0, at most 1", func(c *config, v float64) { c.RejectionCost = v },
			[]float64{0, math.SmallestNonzeroFloat64, 1},
			[]float64{-0.1, 1.5, math.NaN()},
		},
		{
			"Latency", "0s or more", func(c *config, v float64) { c.Latency = time.Duration(v) },
			[]float64{0, 1, 1e18},
			[]float64{-1},
		},
	} {
		for _, v := range append(tt.good, tt.bad...) {
			var c config
			tt.set(&c, v)
			b, err := throttletest.NewBackend(c)
			got, want := fmt.Sprint(err), fmt.Sprintf("throttletest: BackendConfig.%s is ", tt.field)
			named := strings.HasPrefix(got, want) && strings.HasSuffix(got, tt.want)
			if bad := !slices.Contains(tt.good, v); (b == nil) != bad || bad != named {
				t.Errorf("%s %v: got %v and error %v", tt.field, v, b, err)
			}
		}
	}
	b, _ := newBackend(t, config{Capacity: 10})
	for _, capacity := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 2e9} {
		if err := b.SetCapacity(capacity); err == nil {
			t.Errorf("SetCapacity(%v): got no error", capacity)
		}
	}
	if err := b.SetLatency(-1); err == nil || calls(t, b, 10) != 1 {
		t.Errorf("SetLatency(-1): got error %v, or the capacity has changed", err)
	}
	_, err := throttletest.NewBackend(config{Capacity: -1, RejectionCost: -1, Latency: -1})
	if lines := strings.Count(fmt.Sprint(err), "\n") + 1; lines != 3 {
		t.Errorf("every field is invalid: got %v, want three lines", err)
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
