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
	equal(t, "lines, if every field is invalid", strings.Count(fmt.Sprint(err), "\n")+1, 3)
}
