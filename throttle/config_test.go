package throttle_test

import (
	"context"
	"errors"
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

func TestNewRefusesWhatIsOutOfRange(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	type config = throttle.Config
	const (
		ratio      = "want more than 1, at most 1e6"
		rate       = "want more than 0, at most 1e9"
		window     = "want 1s to 1h"
		priorities = "want 1 to 16"
		target     = "want 0.01 to 0.5"
		background = "want at most 0.5, 0 for automatic, or negative for none"
	)
	for _, c := range []struct {
		field, value, want string
		config             config
	}{
		{"Name", "missing", "want 1 to 255 bytes", config{}},
		{"Name", `"` + strings.Repeat("n", 64) + `"... (256 bytes)`, "want 1 to 255 bytes", config{Name: strings.Repeat("n", 256)}},
		{"Priorities", "-1", priorities, config{Priorities: -1}},
		{"Priorities", "17", priorities, config{Priorities: 17}},
		{"Priorities", "200", priorities, config{Priorities: 200}},
		{"Priorities", "9223372036854775807", priorities, config{Priorities: math.MaxInt}},
		{"Ratio", "1", ratio, config{Ratio: 1}},
		{"Ratio", "0.5", ratio, config{Ratio: 0.5}},
		{"Ratio", "-2", ratio, config{Ratio: -2}},
		{"Ratio", "2e+06", ratio, config{Ratio: 2e6}},
		{"Ratio", "NaN", ratio, config{Ratio: nan}},
		{"Ratio", "+Inf", ratio, config{Ratio: inf}},
		{"Ratio", "-Inf", ratio, config{Ratio: -inf}},
		{"MinimumRate", "-1", rate, config{MinimumRate: -1}},
		{"MinimumRate", "2e+09", rate, config{MinimumRate: 2e9}},
		{"MinimumRate", "NaN", rate, config{MinimumRate: nan}},
		{"MinimumRate", "+Inf", rate, config{MinimumRate: inf}},
		{"MinimumRate", "-Inf", rate, config{MinimumRate: -inf}},
		{"CanceledAfter", "1h0m1s", "at most 1h", config{CanceledAfter: time.Hour + time.Second}},
		{"Window", "-1s", window, config{Window: -time.Second}},
		{"Window", "999ms", window, config{Window: 999 * time.Millisecond}},
		{"Window", "1h0m1s", window, config{Window: time.Hour + time.Second}},
		{"Window", "2562047h47m16.854775807s", window, config{Window: math.MaxInt64}},
		{"Policy", "policy(2)", "want Tiered or SRE", config{Policy: 2}},
		{"Background", "0.51", background, config{Background: 0.51}},
		{"Background", "NaN", background, config{Background: nan}},
		{"Background", "-Inf", background, config{Background: -inf}},
		{"TargetRejection", "0.009", target, config{TargetRejection: 0.009}},
		{"TargetRejection", "0.51", target, config{TargetRejection: 0.51}},
		{"TargetRejection", "-0.1", target, config{TargetRejection: -0.1}},
		{"TargetRejection", "NaN", target, config{TargetRejection: nan}},
		{"TargetRejection", "+Inf", target, config{TargetRejection: inf}},
		{"Mode", "mode(3)", "want ModeEnforce, ModeShadow or ModeOff", config{Mode: 3}},
		{"Mode", "mode(255)", "want ModeEnforce, ModeShadow or ModeOff", config{Mode: 255}},
	} {
		t.Run(c.field+" "+c.value, func(t *testing.T) {
			if c.field != "Name" {
				c.config.Name = "backend"
			}
			th, err := throttle.New(c.config)
			if th != nil || err == nil {
				t.Fatalf("New: got %v and error %v want nil and an error", th, err)
			}
			for _, part := range []string{"throttle: Config." + c.field + " is " + c.value + ": ", c.want} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error: got %q want one with %q", err, part)
				}
			}
		})
	}
}

func TestNewTakesWhatIsJustInRange(t *testing.T) {
	for name, c := range map[string]throttle.Config{
		"longest name":           {Name: strings.Repeat("n", 255)},
		"one priority":           {Priorities: 1},
		"sixteen priorities":     {Priorities: 16},
		"smallest ratio":         {Ratio: math.Nextafter(1, 2)},
		"largest ratio":          {Ratio: 1e6},
		"largest rate":           {MinimumRate: 1e9},
		"shortest window":        {Window: time.Second},
		"longest window":         {Window: time.Hour},
		"one call per window":    {Window: time.Hour, MinimumRate: 1.0 / 3600},
		"smallest target":        {TargetRejection: 0.01},
		"largest target":         {TargetRejection: 0.5},
		"negative zeros":         {Ratio: math.Copysign(0, -1), MinimumRate: math.Copysign(0, -1), TargetRejection: math.Copysign(0, -1)},
		"shadow":                 {Mode: throttle.ModeShadow},
		"off":                    {Mode: throttle.ModeOff},
		"a name with everything": {Name: "räcommendations \"x\" %d\n"},
	} {
		t.Run(name, func(t *testing.T) {
			th := build(t, c)
			equal(t, "Do", th.Do(context.Background(), throttle.High, returns(nil)), nil)
		})
	}
}

func TestNewReportsAllFaultsAtOnce(t *testing.T) {
	_, err := throttle.New(throttle.Config{
		Priorities: -1, Ratio: math.NaN(), MinimumRate: -1, Window: -1, Policy: 9, TargetRejection: 2, Mode: 9,
	})
	if err == nil {
		t.Fatal("New: got no error")
	}
	for _, field := range []string{"Name", "Priorities", "Ratio", "MinimumRate", "Window", "Policy", "TargetRejection", "Mode"} {
		equal(t, "lines about "+field, strings.Count(err.Error(), "throttle: Config."+field+" is "), 1)
	}
	equal(t, "lines", len(strings.Split(err.Error(), "\n")), 8)
}

func TestDrawsThatAreNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		draw float64
		shed bool
	}{
		"NaN": {math.NaN(), true}, "below 0": {-5, true}, "-Inf": {math.Inf(-1), true},
		"1": {1, false}, "above 1": {7, false}, "+Inf": {math.Inf(1), false},
	} {
		t.Run(name, func(t *testing.T) {
			draw := 0.0
			th := build(t, throttle.Config{Rand: func() float64 { return draw }})
			overload(t, th, throttle.High)
			draw = c.draw
			err := th.Do(context.Background(), throttle.High, returns(nil))
			equal(t, "shed", errors.Is(err, throttle.ErrShed), c.shed)
		})
	}
}

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
		for _, p := range th.Stats().Priorities {
			for _, probability := range []float64{p.Probability, th.RejectionProbability(p.Priority)} {
				if !(probability >= 0 && probability < 1) {
					t.Errorf("probability of %v: got %v want 0 <= P < 1", p.Priority, probability)
				}
			}
			equal(t, "in flight", p.InFlight, 0)
		}
	})
}

func TestExactlyOneProbePerWindowIsEnough(t *testing.T) {
	for seconds := 1; seconds <= 3600; seconds++ {
		c := throttle.Config{Name: "rare", Window: time.Duration(seconds) * time.Second, MinimumRate: 1 / float64(seconds)}
		if _, err := throttle.New(c); err != nil {
			t.Fatalf("one call in %d s: %v", seconds, err)
		}
	}
}

func TestAWindowOutOfRangeIsToldOfOnce(t *testing.T) {
	_, err := throttle.New(throttle.Config{Name: "window", Window: -1})
	if err == nil || strings.Contains(err.Error(), "MinimumRate") {
		t.Errorf("got %v, want an error about the window alone", err)
	}
}

func TestValidate(t *testing.T) {
	var created int
	c := throttle.Config{Name: "db", Hooks: throttle.Hooks{Created: func(*throttle.Throttle) { created++ }}}
	equal(t, "error of a valid Config", c.Validate(), nil)
	c.Ratio = 0.5
	_, err := throttle.New(c)
	equal(t, "error of Validate", fmt.Sprint(c.Validate()), fmt.Sprint(err))
	equal(t, "created", created, 0)
}
