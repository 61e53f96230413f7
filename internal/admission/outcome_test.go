package main

import (
	"math"
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

func TestCount(t *testing.T) {
	records := append(each(throttle.High, good, good, shed, late), each(throttle.Low, held, shed, failed, good)...)
	all, high, medium := count(records), count(records, throttle.High), count(records, throttle.Medium)
	if all.offered() != 8 || all[good] != 3 || all[shed] != 2 || all[held] != 1 || all[late] != 1 || all[failed] != 1 {
		t.Errorf("got %v", all)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"shed", all.shedShare(), 37.5},
		{"success of High", high.success(), 50},
		{"shed of High", high.shedShare(), 25},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v%% want %v%%", c.what, c.got, c.want)
		}
	}
	if got := medium.success(); !math.IsNaN(got) {
		t.Errorf("success without requests: got %v want NaN", got)
	}
}

func TestBetween(t *testing.T) {
	records := each(throttle.High, good, good, good, good)
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, time.Hour, 4},
		{0, time.Second, 1},
		{time.Second, 3 * time.Second, 2},
		{time.Second + 1, 3 * time.Second, 1},
		{time.Minute, time.Hour, 0},
	} {
		if got := len(between(records, c.from, c.to)); got != c.want {
			t.Errorf("from %v to %v: got %d want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		durations []time.Duration
		q         float64
		want      time.Duration
	}{
		{nil, 0.5, 0},
		{hundred[:1], 0.99, 100},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
	} {
		if got := percentile(c.durations, c.q); got != c.want {
			t.Errorf("percentile %v of %d: got %d want %d", c.q, len(c.durations), got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("percentile sorted its argument")
	}
}
