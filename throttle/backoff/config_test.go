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

// TestInvalidConfig wants an error that names the field, its value and its range.
func TestInvalidConfig(t *testing.T) {
	nan, inf, year := math.NaN(), math.Inf(1), 365*24*time.Hour
	for _, tt := range []struct {
		name  string
		c     backoff.Config
		field string
		want  []string
	}{
		{"no name", backoff.Config{}, "Name", []string{"missing", "1 to 255 bytes"}},
		{"long name", backoff.Config{Name: strings.Repeat("n", 256)}, "Name", []string{`nnn"... (256 bytes)`, "1 to 255 bytes"}},
		{"mode", backoff.Config{Mode: 2}, "Mode", []string{"2", "Pace or Sleep"}},
		{"mode, far", backoff.Config{Mode: 255}, "Mode", []string{"255", "Pace or Sleep"}},
		{"initial, negative", backoff.Config{InitialInterval: -1}, "InitialInterval", []string{"-1ns", "1µs to MaxInterval, at most 24h"}},
		{"initial, short", backoff.Config{InitialInterval: 999}, "InitialInterval", []string{"999ns", "1µs"}},
		{"initial, long", backoff.Config{InitialInterval: year, MaxInterval: year}, "InitialInterval", []string{"8760h0m0s"}},
		{"initial, longest", backoff.Config{InitialInterval: math.MaxInt64}, "InitialInterval", []string{"1µs"}},
		{"max, negative", backoff.Config{MaxInterval: -time.Second}, "MaxInterval", []string{"-1s", "24h"}},
		{"max, shortest", backoff.Config{MaxInterval: math.MinInt64}, "MaxInterval", []string{"24h"}},
		{"max, long", backoff.Config{MaxInterval: 24*time.Hour + 1}, "MaxInterval", []string{"24h0m0.000000001s", "at least InitialInterval (100µs), at most 24h"}},
		{"reversed", backoff.Config{InitialInterval: time.Minute, MaxInterval: time.Second}, "MaxInterval", []string{"1s", "at least InitialInterval (1m0s)"}},
		{"up 1", backoff.Config{UpMultiplier: 1}, "UpMultiplier", []string{"is 1:", "more than 1, at most 100"}},
		{"up less", backoff.Config{UpMultiplier: 0.5}, "UpMultiplier", []string{"0.5"}},
		{"up negative", backoff.Config{UpMultiplier: -2}, "UpMultiplier", []string{"-2"}},
		{"up far", backoff.Config{UpMultiplier: 100.1}, "UpMultiplier", []string{"100.1"}},
		{"up NaN", backoff.Config{UpMultiplier: nan}, "UpMultiplier", []string{"NaN"}},
		{"up Inf", backoff.Config{UpMultiplier: inf}, "UpMultiplier", []string{"+Inf"}},
		{"up -Inf", backoff.Config{UpMultiplier: -inf}, "UpMultiplier", []string{"-Inf"}},
		{"down 1", backoff.Config{DownMultiplier: 1}, "DownMultiplier", []string{"is 1:", "more than 0, less than 1"}},
		{"down negative", backoff.Config{DownMultiplier: -0.1}, "DownMultiplier", []string{"-0.1"}},
		{"down NaN", backoff.Config{DownMultiplier: nan}, "DownMultiplier", []string{"NaN"}},
		{"down Inf", backoff.Config{DownMultiplier: inf}, "DownMultiplier", []string{"+Inf"}},
		{"threshold negative", backoff.Config{DownMultiplierThreshold: -1}, "DownMultiplierThreshold", []string{"-1", "1 to 1e6"}},
		{"threshold far", backoff.Config{DownMultiplierThreshold: 1e6 + 1}, "DownMultiplierThreshold", []string{"1000001"}},
		{"factor far", backoff.Config{RandomizationFactor: 1.01}, "RandomizationFactor", []string{"1.01", "at most 1"}},
		{"factor NaN", backoff.Config{RandomizationFactor: nan}, "RandomizationFactor", []string{"NaN"}},
		{"factor Inf", backoff.Config{RandomizationFactor: inf}, "RandomizationFactor", []string{"+Inf"}},
		{"noise negative", backoff.Config{MaxRandomization: -1}, "MaxRandomization", []string{"-1ns", "0 to 24h"}},
		{"noise far", backoff.Config{MaxRandomization: year}, "MaxRandomization", []string{"8760h0m0s"}},
		{"step negative", backoff.Config{UpInterval: -1}, "UpInterval", []string{"-1ns", "0 to 24h"}},
		{"step far", backoff.Config{UpInterval: year}, "UpInterval", []string{"8760h0m0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.field != "Name" {
				tt.c.Name = "x"
			}
			r, err := backoff.New(tt.c)
			if err == nil || r != nil {
				t.Fatalf("got %v, %v want an error", r, err)
			}
			for _, want := range append(tt.want, "backoff: Config."+tt.field+" is ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q want %q in it", err, want)
				}
			}
		})
	}
}

// TestErrorsNameSetFieldsOnly wants that a default is not reported as invalid because of another field.
func TestErrorsNameSetFieldsOnly(t *testing.T) {
	for name, c := range map[string]backoff.Config{
		"InitialInterval": {InitialInterval: 48 * time.Hour},
		"UpMultiplier":    {UpMultiplier: math.NaN()},
		"MaxInterval":     {MaxInterval: -1},
	} {
		c.Name = "x"
		_, err := backoff.New(c)
		if err == nil || strings.Count(err.Error(), "Config.") != 1 || !strings.Contains(err.Error(), "Config."+name+" is ") {
			t.Errorf("invalid %s: got %v want an error of this field only", name, err)
		}
	}
}

// TestInvalidConfigInEveryField wants that one error names all invalid fields.
func TestInvalidConfigInEveryField(t *testing.T) {
	_, err := backoff.New(backoff.Config{
		Mode: 9, InitialInterval: -1, MaxInterval: -2, UpMultiplier: -1, DownMultiplier: 2,
		DownMultiplierThreshold: -1, RandomizationFactor: 2, MaxRandomization: -1,
	})
	for _, field := range []string{
		"Name", "Mode", "InitialInterval", "MaxInterval", "UpMultiplier", "DownMultiplier",
		"DownMultiplierThreshold", "RandomizationFactor", "MaxRandomization",
	} {
		if !strings.Contains(fmt.Sprint(err), "Config."+field+" is ") {
			t.Errorf("got %v want %s in it", err, field)
		}
	}
}

// TestConfigAtItsBounds has values that are only just valid.
func TestConfigAtItsBounds(t *testing.T) {
	for _, c := range []backoff.Config{
		{},
		{Mode: backoff.Sleep},
		{Name: strings.Repeat("n", 255)},
		{InitialInterval: time.Microsecond, MaxInterval: time.Microsecond},
		{InitialInterval: 24 * time.Hour, MaxInterval: 24 * time.Hour},
		{InitialInterval: time.Hour}, // longer than the default of MaxInterval
		{UpMultiplier: math.Nextafter(1, 2)},
		{UpMultiplier: 100},
		{DownMultiplier: math.SmallestNonzeroFloat64},
		{DownMultiplier: math.Nextafter(1, 0)},
		{DownMultiplierThreshold: 1},
		{DownMultiplierThreshold: 1e6},
		{RandomizationFactor: 1},
		{RandomizationFactor: -1},
		{RandomizationFactor: math.Inf(-1)},
		{MaxRandomization: 1},
		{MaxRandomization: 24 * time.Hour},
		{IdleReset: -1},
		{IdleReset: 1},
		{IdleReset: math.MaxInt64},
		{IdleReset: math.MinInt64},
	} {
		if c.Name == "" {
			c.Name = "x"
		}
		if _, err := backoff.New(c); err != nil {
			t.Errorf("got %v want none", err)
		}
	}
}

func TestMustPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Must of an error: got no panic")
		}
	}()
	backoff.Must(backoff.New(backoff.Config{}))
}

// TestDefaults checks the first steps of each mode, and their words.
func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		mode  backoff.Mode
		word  string
		delay []time.Duration
		slow  time.Duration
	}{
		{backoff.Pace, "pace", []time.Duration{100 * time.Microsecond, 125 * time.Microsecond, 156250 * time.Nanosecond}, 30 * time.Second},
		{backoff.Sleep, "sleep", []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1125 * time.Millisecond}, 15 * time.Minute},
		{9, "mode(9)", nil, 0},
	} {
		if got := tt.mode.String(); got != tt.word {
			t.Errorf("got %q want %q", got, tt.word)
		}
		if tt.delay == nil {
			continue
		}
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
