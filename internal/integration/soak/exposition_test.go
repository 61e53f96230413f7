package main

import (
	"maps"
	"strings"
	"testing"
)

// scraped is a scrape with something of every kind.
const scraped = `# TYPE throttle_calls_total counter
throttle_calls_total{otel_scope_name="x",throttle_name="a",throttle_decision="shed"} 3
throttle_calls_total{otel_scope_name="x",throttle_name="a",throttle_decision="admitted"} 4
# TYPE throttle_calls gauge
throttle_calls{throttle_decision="shed"} 100
# TYPE go_goroutines gauge
go_goroutines 7
# TYPE d_seconds histogram
d_seconds_bucket{le="0.1"} 1
d_seconds_bucket{le="+Inf"} 2
d_seconds_sum -5
d_seconds_count 2
# TYPE gc_seconds summary
gc_seconds{quantile="0.5"} 0.1
gc_seconds_sum 3
gc_seconds_count 9
nobody_says_what 1
`

func TestParseExposition(t *testing.T) {
	e, err := parseExposition([]byte(scraped))
	if err != nil {
		t.Fatal(err)
	}
	counters := map[string]float64{
		`throttle_calls_total{throttle_decision="shed",throttle_name="a"}`:     3,
		`throttle_calls_total{throttle_decision="admitted",throttle_name="a"}`: 4,
		"d_seconds_count": 2, "d_seconds_bucket le 0.1": 1, "d_seconds_bucket le +Inf": 2, "gc_seconds_count": 9,
	}
	if !maps.Equal(e.counters, counters) {
		t.Errorf("counters: got %v want %v", e.counters, counters)
	}
	gauges := map[string]float64{`throttle_calls{throttle_decision="shed"}`: 100, "go_goroutines": 7, "nobody_says_what": 1}
	if !maps.Equal(e.gauges, gauges) {
		t.Errorf("gauges: got %v want %v", e.gauges, gauges)
	}
	lines := 0
	for line := range strings.Lines(scraped) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	if e.series != lines {
		t.Errorf("series: got %d want %d", e.series, lines)
	}
}

func TestParseExpositionRefuses(t *testing.T) {
	whole := scraped + "last 1\n"
	for name, text := range map[string]string{
		"nothing": "", "no series": "# TYPE a counter\n", "a page": "<html></html>\n",
		"cut off in a name": whole[:len(whole)-5], "cut off in labels": whole[:strings.Index(whole, ",throttle_decision")], "no newline": whole[:len(whole)-1],
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := parseExposition([]byte(text)); err == nil {
				t.Errorf("got %d series want an error", e.series)
			}
		})
	}
}

func TestTotal(t *testing.T) {
	e, err := parseExposition([]byte(scraped))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, word string
		want       float64
	}{
		{"throttle_calls_total", "", 7},
		{"throttle_calls_total", `throttle_decision="shed"`, 3},
		{"throttle_calls_total", `throttle_decision="she"`, 0},
		{"throttle_calls", "", 0},
		{"throttle", "", 0},
	} {
		if got := e.total(tt.name, tt.word); got != tt.want {
			t.Errorf("total of %s with %q: got %v want %v", tt.name, tt.word, got, tt.want)
		}
	}
	if got := callsOf(e); got != 7 {
		t.Errorf("calls: got %v want 7", got)
	}
}
