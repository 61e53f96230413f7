package main

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// each returns one record per second, with the outcomes in order.
func each(p throttle.Priority, os ...outcome) (records []record) {
	for i, o := range os {
		records = append(records, record{arrival: arrival{at: time.Duration(i) * time.Second, priority: p}, outcome: o})
	}
	return records
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := percentile(hundred, q); got != want {
			t.Errorf("percentile %v: got %d want %d", q, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("percentile of none: got %d want 0", got)
	}
	if hundred[0] != 100 {
		t.Error("percentile sorted its argument")
	}
}
