package backoff

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDelay plays calls and wants the delay after each, in milliseconds: T is throttled, S is served, R resets. In lower case
// the call began before the last step up or reset.
func TestDelay(t *testing.T) {
	const outage = "1 2 4 8 16 32 64 128 "
	for _, tt := range []struct {
		name  string
		mode  Mode
		calls string
		want  string
		steps uint64
	}{
		{"up to the maximum", Sleep, "TTTTTTTTTTTT", outage + "256 512 1000 1000", 12},
		{"down to none", Sleep, "TTTSSSSSSS", "1 2 4 4 2 2 1 1 0 0", 6},
		{"a step up begins a new row of successes", Sleep, "TTSTSS", "1 2 2 4 4 2", 4},
		{"calls from before count for nothing", Pace, "TTtssss", "1 2 2 2 2 2 2", 2},
		{"an outage", Pace, "TTTTTTTTSSSS", outage + "32 8 2 0", 12},
		{"none, by one step", Pace, "TTTTTTTSS", "1 2 4 8 16 32 64 64 32", 8},
		{"none, by a success", Pace, "TTTTSTTTTSS", "1 2 4 8 8 16 32 64 128 128 64", 9},
		{"none in mode Sleep", Sleep, "TTTTTTTTSS", outage + "128 64", 9},
		{"a throttled call undoes the last step of the recovery", Pace, "TTTTTTTTSTSS", outage + "32 128 128 64", 11},
		{"a recovery ends near the limit", Pace, "TTTTTTTTSTTTTTTTTTSSSS", outage + "32 128 256 512 1000 1000 1000 1000 1000 1000 250 62.5 62.5 31.25", 21},
		{"a reset", Sleep, "RTTRtT", "0 1 2 0 0 1", 4},
	} {
		d := delay{config: &Config{
			Mode: tt.mode, InitialInterval: time.Millisecond, MaxInterval: time.Second, UpMultiplier: 2, DownMultiplier: 0.5, DownMultiplierThreshold: 2,
		}}
		var got []string
		before := d.generation
		for _, call := range tt.calls {
			generation := d.generation
			switch call {
			case 'T':
				d.throttled(generation)
			case 'S':
				d.succeeded(generation)
			case 't':
				d.throttled(before)
			case 's':
				d.succeeded(before)
			case 'R':
				d.reset()
			}
			if changes := call == 'T' || call == 'R'; changes && d.generation != generation+1 || !changes && d.generation != generation {
				t.Errorf("%s: after %c: got generation %d after %d", tt.name, call, d.generation, generation)
			} else if changes {
				before = generation
			}
			got = append(got, fmt.Sprint(float64(d.interval)/1e6))
		}
		if got := strings.Join(got, " "); got != tt.want || d.steps != tt.steps {
			t.Errorf("%s: got %s in %d steps want %s in %d", tt.name, got, d.steps, tt.want, tt.steps)
		}
	}
}

// TestDelay_randomized wants waits around the delay, and none longer than MaxInterval.
func TestDelay_randomized(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		interval, limit, longest time.Duration
		factor                   float64
		want                     [3]time.Duration // for the random numbers 0, 0.5 and 1
	}{
		{10 * ms, time.Hour, time.Hour, 0.5, [3]time.Duration{5 * ms, 10 * ms, 15 * ms}},
		{10 * ms, 2 * ms, time.Hour, 0.5, [3]time.Duration{8 * ms, 10 * ms, 12 * ms}},
		{10 * ms, time.Hour, 11 * ms, 0.5, [3]time.Duration{5 * ms, 8 * ms, 11 * ms}},
		{10 * ms, time.Hour, time.Hour, -1, [3]time.Duration{10 * ms, 10 * ms, 10 * ms}},
		{0, time.Hour, time.Hour, 0.5, [3]time.Duration{}},
	} {
		d := delay{interval: tt.interval, config: &Config{RandomizationFactor: tt.factor, MaxRandomization: tt.limit, MaxInterval: tt.longest}}
		if got := [3]time.Duration{d.randomized(0), d.randomized(0.5), d.randomized(1)}; got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}

// TestDelayGrowsByTinyFactor wants a longer delay even if its UpMultiplier adds less than a nanosecond.
func TestDelayGrowsByTinyFactor(t *testing.T) {
	c := Config{UpMultiplier: 1 + 1e-9}.withDefaults()
	d := delay{config: &c}
	for range 3 {
		d.throttled(d.generation)
	}
	if want := c.InitialInterval + 2; d.interval != want {
		t.Errorf("got %v want %v", d.interval, want)
	}
}
