package throttle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestTheDefaults(t *testing.T) {
	th, err := throttle.New(throttle.Config{Name: "recommendations"})
	if err != nil {
		t.Fatalf("New: got error %v want nil", err)
	}
	equal(t, "Name", th.Name(), "recommendations")
	var tiers [4]throttle.PriorityStats
	for p := range tiers {
		tiers[p].Priority = throttle.Priority(p)
	}
	want := throttle.Stats{
		Name: "recommendations", Policy: throttle.Tiered, Mode: throttle.ModeEnforce, Ratio: 2, MinimumRate: 1,
		TargetRejection: 0.1, Window: 10 * time.Second, Priorities: tiers[:],
	}
	got := th.Stats()
	got.State.Since = time.Time{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Stats: got %+v want %+v", got, want)
	}
}

func TestNew_validates(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	type config = throttle.Config
	for _, tt := range []struct {
		field, want string
		set         func(*config, float64)
		good, bad   []float64
	}{
		{
			"Priorities", "want 1 to 16", func(c *config, v float64) { c.Priorities = int(v) },
			[]float64{0, 1, 16},
			[]float64{-1, 17, 200, math.MaxInt32},
		},
		{
			"Ratio", "want more than 1, at most 1e6", func(c *config, v float64) { c.Ratio = v },
			[]float64{math.Copysign(0, -1), math.Nextafter(1, 2), 1e6},
			[]float64{1, 0.5, -2, 2e6, nan, inf, -inf},
		},
		{
			"MinimumRate", "want more than 0, at most 1e9", func(c *config, v float64) { c.MinimumRate = v },
			[]float64{math.Copysign(0, -1), 1, 1e9},
			[]float64{-1, 2e9, nan, inf, -inf},
		},
		{
			"CanceledAfter", "at most 1h", func(c *config, v float64) { c.CanceledAfter = seconds(v) },
			[]float64{-1, 0, 3600},
			[]float64{3601},
		},
		{
			"Window", "want 1s to 1h", func(c *config, v float64) { c.Window = seconds(v) },
			[]float64{0, 1, 3600},
			[]float64{-1, 0.999, 3601},
		},
		{
			"Policy", "want Tiered or SRE", func(c *config, v float64) { c.Policy = throttle.Policy(v) },
			[]float64{0, 1},
			[]float64{2, 255},
		},
		{
			"Background", "want at most 0.5, 0 for automatic, or negative for none",
			func(c *config, v float64) { c.Background = v },
			[]float64{-1, 0, 0.5},
			[]float64{0.51, nan, -inf},
		},
		{
			"TargetRejection", "want 0.01 to 0.5", func(c *config, v float64) { c.TargetRejection = v },
			[]float64{math.Copysign(0, -1), 0.01, 0.5},
			[]float64{0.009, 0.51, -0.1, nan, inf},
		},
		{
			"Mode", "want ModeEnforce, ModeShadow or ModeOff", func(c *config, v float64) { c.Mode = throttle.Mode(v) },
			[]float64{0, 1, 2},
			[]float64{3, 255},
		},
		{
			"Slow", "want 1ms to 1h", func(c *config, v float64) { c.Slow = seconds(v) },
			[]float64{-1, 0, 0.001, 3600},
			[]float64{0.000_001, 7200},
		},
		{
			"SlowGate", "want ModeEnforce, ModeShadow or ModeOff", func(c *config, v float64) { c.SlowGate = throttle.Mode(v) },
			[]float64{0, 1, 2},
			[]float64{3},
		},
		{
			"Name", "want 1 to 255 bytes", func(c *config, v float64) { c.Name = strings.Repeat("\n", int(v)) },
			[]float64{1, 255},
			[]float64{0, 256},
		},
	} {
		for _, v := range tt.good {
			c := config{Name: "backend"}
			tt.set(&c, v)
			th, err := throttle.New(c)
			if err != nil || th.Do(t.Context(), throttle.High, returns(nil)) != nil {
				t.Errorf("%s %v: got error %v want a throttle that makes calls", tt.field, v, err)
			}
		}
		for _, v := range tt.bad {
			c := config{Name: "backend"}
			tt.set(&c, v)
			th, err := throttle.New(c)
			if th != nil || err == nil || !strings.HasPrefix(err.Error(), "throttle: Config."+tt.field+" is ") ||
				!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %v: got %v and error %v want one line with %q", tt.field, v, th, err, tt.want)
			}
		}
	}
	created := 0
	all := config{
		Priorities: -1, Ratio: nan, MinimumRate: -1, Window: -1, Policy: 9, TargetRejection: 2, Mode: 9,
		Hooks: throttle.Hooks{Created: func(*throttle.Throttle) { created++ }},
	}
	long := config{Name: strings.Repeat("a", 300)}.Validate()
	equal(t, "a long name is cut", strings.Contains(fmt.Sprint(long), ` is "`+strings.Repeat("a", 64)+`"... (300 bytes): `), true)
	_, err := throttle.New(all)
	equal(t, "lines for eight fields", strings.Count(fmt.Sprint(err), "throttle: Config."), 8)
	equal(t, "error of Validate", fmt.Sprint(all.Validate()), fmt.Sprint(err))
	equal(t, "error of a valid Config", config{Name: "db", Hooks: all.Hooks}.Validate(), nil)
	equal(t, "created", created, 0)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// FuzzNew makes a throttle of any Config, and if New takes it, random traffic on a clock that also stands still and jumps,
// both ways.
func FuzzNew(f *testing.F) {
	f.Add("backend", 4, 2.0, 1.0, int64(time.Minute), uint8(0), 0.1, uint8(0), uint64(1))
	f.Add("", -1, math.NaN(), math.Inf(1), int64(-1), uint8(1), math.Inf(-1), uint8(3), uint64(2))
	f.Add("b", 16, 1.0000001, 1e9, int64(time.Hour), uint8(0), 0.5, uint8(1), uint64(3))
	f.Add("b", 1, 1e6, 1.0, int64(time.Second), uint8(0), 0.01, uint8(2), uint64(4))
	f.Add("b", math.MaxInt, math.MaxFloat64, math.SmallestNonzeroFloat64, int64(math.MinInt64), uint8(255), -1.0, uint8(255), uint64(6))
	f.Add("b", 3, math.Nextafter(1, 2), 1e9, int64(time.Second), uint8(1), 0.01, uint8(0), uint64(7))
	f.Add("b", 3, 1e6, 1e9, int64(time.Hour), uint8(1), 0.5, uint8(0), uint64(8))
	f.Add("b", 2, 1.1, 0.001, int64(time.Hour), uint8(0), 0.0, uint8(0), uint64(5))
	f.Fuzz(func(t *testing.T, name string, n int, ratio, rate float64, window int64, policy uint8, target float64, mode uint8, seed uint64) {
		dice := rand.New(rand.NewPCG(seed, 0))
		clock := time.Unix(0, 0)
		th, err := throttle.New(throttle.Config{
			Name: name, Priorities: n, Ratio: ratio, MinimumRate: rate, Window: time.Duration(window),
			Policy: throttle.Policy(policy), TargetRejection: target, Mode: throttle.Mode(mode),
			Now: func() time.Time { return clock }, Rand: dice.Float64,
		})
		if err != nil {
			if th != nil || !strings.HasPrefix(err.Error(), "throttle: Config.") {
				t.Errorf("New: got %v and error %q want nil and an error that names the field", th, err)
			}
			return
		}
		for range 300 {
			clock = clock.Add(time.Duration(dice.ExpFloat64() * float64(window) / 50))
			if dice.IntN(100) == 0 {
				clock = clock.Add(time.Duration(dice.Int64() - math.MaxInt64/2))
			}
			outcome := []error{nil, errBusy, context.Canceled, errPlain}[dice.IntN(4)]
			times(1+dice.IntN(20), th, throttle.Priority(dice.IntN(256)-128), outcome)
		}
		checkSane(t, th)
		equal(t, "in flight", inFlight(th), 0)
	})
}
