package backoff_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestInvalidConfig wants an error that names the field, its value and its range, and no other field.
func TestInvalidConfig(t *testing.T) {
	nan, day := math.NaN(), 24*time.Hour
	for _, tt := range []struct {
		c           backoff.Config
		field, want string
	}{
		{backoff.Config{}, "Name", "missing: want 1 to 255 bytes"},
		{backoff.Config{Name: strings.Repeat("n", 256)}, "Name", `nnn"... (256 bytes): want 1 to 255 bytes`},
		{backoff.Config{Mode: 2}, "Mode", "2: want Pace or Sleep"},
		{backoff.Config{InitialInterval: -1}, "InitialInterval", "-1ns: want 1µs to MaxInterval, at most 24h"},
		{backoff.Config{InitialInterval: 999}, "InitialInterval", "999ns: want 1µs"},
		{backoff.Config{InitialInterval: day + 1}, "InitialInterval", "24h0m0.000000001s"},
		{backoff.Config{MaxInterval: -time.Second}, "MaxInterval", "-1s"},
		{backoff.Config{MaxInterval: day + 1}, "MaxInterval", "24h0m0.000000001s: want at least InitialInterval (100µs), at most 24h"},
		{backoff.Config{InitialInterval: time.Minute, MaxInterval: time.Second}, "MaxInterval", "1s: want at least InitialInterval (1m0s)"},
		{backoff.Config{UpMultiplier: 1}, "UpMultiplier", "1: want more than 1, at most 100"},
		{backoff.Config{UpMultiplier: 100.1}, "UpMultiplier", "100.1"},
		{backoff.Config{UpMultiplier: nan}, "UpMultiplier", "NaN"},
		{backoff.Config{UpInterval: -1}, "UpInterval", "-1ns: want 0 to 24h"},
		{backoff.Config{UpInterval: day + 1}, "UpInterval", "24h0m0.000000001s"},
		{backoff.Config{DownMultiplier: 1}, "DownMultiplier", "1: want more than 0, less than 1"},
		{backoff.Config{DownMultiplier: -0.1}, "DownMultiplier", "-0.1"},
		{backoff.Config{DownMultiplier: nan}, "DownMultiplier", "NaN"},
		{backoff.Config{DownMultiplierThreshold: -1}, "DownMultiplierThreshold", "-1: want 1 to 1e6"},
		{backoff.Config{DownMultiplierThreshold: 1e6 + 1}, "DownMultiplierThreshold", "1000001"},
		{backoff.Config{RandomizationFactor: 1.01}, "RandomizationFactor", "1.01: want at most 1"},
		{backoff.Config{RandomizationFactor: nan}, "RandomizationFactor", "NaN"},
		{backoff.Config{MaxRandomization: -1}, "MaxRandomization", "-1ns: want 0 to 24h"},
		{backoff.Config{MaxRandomization: day + 1}, "MaxRandomization", "24h0m0.000000001s"},
	} {
		if tt.field != "Name" {
			tt.c.Name = "x"
		}
		r, err := backoff.New(tt.c)
		got := fmt.Sprint(err)
		_, after, found := strings.Cut(got, "backoff: Config."+tt.field+" is ")
		if r != nil || !found || !strings.Contains(after, tt.want) || strings.Count(got, "Config.") != 1 {
			t.Errorf("%+v: got %v, %q want one error about %s: %s", tt.c, r, got, tt.field, tt.want)
		}
	}
}

func TestConfigAtItsBounds(t *testing.T) {
	for _, c := range []backoff.Config{
		{Name: strings.Repeat("n", 255)},
		{InitialInterval: time.Microsecond, MaxInterval: time.Microsecond},
		{InitialInterval: 24 * time.Hour, MaxInterval: 24 * time.Hour},
		{InitialInterval: time.Hour}, // longer than the default of MaxInterval
		{UpMultiplier: math.Nextafter(1, 2), DownMultiplier: math.SmallestNonzeroFloat64, DownMultiplierThreshold: 1},
		{UpMultiplier: 100, DownMultiplier: math.Nextafter(1, 0), DownMultiplierThreshold: 1e6},
		{RandomizationFactor: 1, MaxRandomization: 1, IdleReset: 1, UpInterval: 1},
		{RandomizationFactor: math.Inf(-1), MaxRandomization: 24 * time.Hour, IdleReset: math.MinInt64, UpInterval: 24 * time.Hour},
	} {
		if c.Name == "" {
			c.Name = "x"
		}
		if _, err := backoff.New(c); err != nil {
			t.Errorf("got %v want none", err)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		mode  backoff.Mode
		delay []time.Duration
		slow  time.Duration
	}{
		{backoff.Pace, []time.Duration{100 * time.Microsecond, 125 * time.Microsecond, 156250 * time.Nanosecond}, 30 * time.Second},
		{backoff.Sleep, []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1125 * time.Millisecond}, 15 * time.Minute},
	} {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: tt.mode}))
		var got []time.Duration
		b := r.BackOff()
		for range 100 {
			b.NextBackOff()
			got = append(got, r.Delay())
		}
		if !slices.Equal(got[:3], tt.delay) || got[99] != tt.slow {
			t.Errorf("%v: got %v, and %v in the end, want %v, %v", tt.mode, got[:3], got[99], tt.delay, tt.slow)
		}
	}
}
