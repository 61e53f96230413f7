package adaptive_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
)

func TestInvalidConfig(t *testing.T) {
	tests := []struct {
		name string
		c    adaptive.Config
		want string // "" is none
	}{
		{"defaults", adaptive.Config{}, ""},
		{"negative zeros", adaptive.Config{RatioForAccepts: math.Copysign(0, -1), RequestsPadding: math.Copysign(0, -1)}, ""},
		{"lowest", adaptive.Config{Duration: time.Second, Bins: 10, RatioForAccepts: 1, RequestsPadding: math.SmallestNonzeroFloat64}, ""},
		{"highest", adaptive.Config{Duration: time.Hour, Bins: 1000, RatioForAccepts: 1e6, RequestsPadding: 1e6}, ""},

		{"Duration negative", adaptive.Config{Duration: -time.Second}, "adaptive: Config.Duration is -1s: want 1s to 1h"},
		{"Duration short", adaptive.Config{Duration: time.Second - 1}, "adaptive: Config.Duration is 999.999999ms: want 1s to 1h"},
		{"Duration long", adaptive.Config{Duration: time.Hour + 1}, "adaptive: Config.Duration is 1h0m0.000000001s: want 1s to 1h"},
		{"Bins negative", adaptive.Config{Bins: -100}, "adaptive: Config.Bins is -100: want 10 to 1000"},
		{"Bins few", adaptive.Config{Bins: 9}, "adaptive: Config.Bins is 9: want 10 to 1000"},
		{"Bins many", adaptive.Config{Bins: 1001}, "adaptive: Config.Bins is 1001: want 10 to 1000"},
		{"RatioForAccepts negative", adaptive.Config{RatioForAccepts: -2}, "adaptive: Config.RatioForAccepts is -2: want 1 to 1e6"},
		{"RatioForAccepts low", adaptive.Config{RatioForAccepts: 0.99}, "adaptive: Config.RatioForAccepts is 0.99: want 1 to 1e6"},
		{"RatioForAccepts high", adaptive.Config{RatioForAccepts: 1e7}, "adaptive: Config.RatioForAccepts is 1e+07: want 1 to 1e6"},
		{"RatioForAccepts NaN", adaptive.Config{RatioForAccepts: math.NaN()}, "adaptive: Config.RatioForAccepts is NaN: want 1 to 1e6"},
		{"RatioForAccepts Inf", adaptive.Config{RatioForAccepts: math.Inf(1)}, "adaptive: Config.RatioForAccepts is +Inf: want 1 to 1e6"},
		{
			"RequestsPadding negative",
			adaptive.Config{RequestsPadding: -8},
			"adaptive: Config.RequestsPadding is -8: want more than 0, at most 1e6",
		},
		{
			"RequestsPadding high",
			adaptive.Config{RequestsPadding: 1e7},
			"adaptive: Config.RequestsPadding is 1e+07: want more than 0, at most 1e6",
		},
		{
			"RequestsPadding NaN",
			adaptive.Config{RequestsPadding: math.NaN()},
			"adaptive: Config.RequestsPadding is NaN: want more than 0, at most 1e6",
		},
		{
			"RequestsPadding Inf",
			adaptive.Config{RequestsPadding: math.Inf(-1)},
			"adaptive: Config.RequestsPadding is -Inf: want more than 0, at most 1e6",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			th, err := adaptive.New(tt.c)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want || (th == nil) != (err != nil) {
				t.Errorf("New() = %v, %q, want error %q", th, got, tt.want)
			}
		})
	}
}

func TestInvalidConfigInEveryField(t *testing.T) {
	_, err := adaptive.New(adaptive.Config{Duration: -1, Bins: -1, RatioForAccepts: -1, RequestsPadding: -1})
	if err == nil {
		t.Fatal("New() returned no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 4 {
		t.Errorf("New() = %q, want four lines", err)
	}
	for i, field := range []string{"Duration", "Bins", "RatioForAccepts", "RequestsPadding"} {
		if !strings.Contains(lines[i], "Config."+field+" is ") {
			t.Errorf("line %d is %q, want it to name %s", i, lines[i], field)
		}
	}
}

// FuzzConfig: New returns an error, or a throttler that works.
func FuzzConfig(f *testing.F) {
	f.Add(int64(0), 0, 0.0, 0.0)
	f.Add(int64(30*time.Second), 100, 2.0, 8.0)
	f.Add(int64(time.Second), 1000, 1.0, math.SmallestNonzeroFloat64)
	f.Add(int64(time.Hour), 2, 1e6, 1e6)
	f.Add(int64(time.Second+1), 3, 1.5, 1e-300)
	f.Add(int64(-1), -1, math.NaN(), math.Inf(1))
	f.Add(int64(math.MaxInt64), math.MaxInt, math.Inf(-1), math.NaN())
	f.Fuzz(func(t *testing.T, duration int64, bins int, ratio, padding float64) {
		var now time.Time
		c := adaptive.Config{
			Duration: time.Duration(duration), Bins: bins, RatioForAccepts: ratio, RequestsPadding: padding,
			Now: func() time.Time { return now },
		}
		th, err := adaptive.New(c)
		if err != nil {
			if th != nil {
				t.Fatal("both a throttler and an error")
			}
			return
		}
		for i := range 200 {
			now = now.Add(time.Duration(i) * c.Duration / 2000)
			th.RegisterBackendResponse(i%4 > 0)
			th.ShouldThrottle()
			s := th.Stats()
			if !(s.Probability >= 0 && s.Probability < 1) {
				t.Fatalf("probability %v with %+v", s.Probability, c)
			}
			if s.Total.Accepted+s.Total.Rejected != uint64(i+1) || s.Window.Requests() == 0 {
				t.Fatalf("%+v after %d answers with %+v", s, i+1, c)
			}
		}
	})
}
