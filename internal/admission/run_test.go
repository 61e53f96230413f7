package main

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestServedInIsAShareOfWhatIsPossible(t *testing.T) {
	r := &run{capacity: 2}
	for i, o := range []outcome{good, good, shed, shed, good} { // four in the first second, then one
		r.records = append(r.records, record{arrival: arrival{at: time.Duration(i) * 250 * time.Millisecond}, outcome: o})
	}
	if got := r.servedIn(0); got != 100 {
		t.Errorf("above the capacity: got %v%% want 100%%", got)
	}
	if got := r.servedIn(1); got != 100 {
		t.Errorf("below the capacity: got %v%% want 100%%", got)
	}
	if got := r.seconds(); got != 2 {
		t.Errorf("got %d seconds want 2", got)
	}
}

func TestShedOfBurstsCountsNothingElse(t *testing.T) {
	r := &run{records: each(throttle.Low, shed, good, good, shed)}
	r.records[0].burst, r.records[1].burst = true, true
	if got := r.shedOfBursts(); got != 50 {
		t.Errorf("got %v%% want 50%%", got)
	}
}

func TestLatencyIsThatOfGoodAnswers(t *testing.T) {
	r := &run{row: row{length: time.Minute}, records: each(throttle.High, good, shed, good)}
	for i, d := range []time.Duration{10, 1, 20} {
		r.records[i].latency, r.records[i].lag = d, 2*d
	}
	if p50, p99, lag := r.latency(0.5), r.latency(0.99), r.lag(); p50 != 10 || p99 != 20 || lag != 40 {
		t.Errorf("got p50 %d, p99 %d, lag %d want 10, 20, 40", p50, p99, lag)
	}
}

func TestCrowd(t *testing.T) {
	arrivals := schedule(1, []phase{{length: 10 * time.Second, rate: 2000}})
	crowd(1, arrivals, 0.1)
	modest, high := 0.0, 0.0
	for _, a := range arrivals {
		if a.tenant != greedyTenant {
			modest++
		}
		if a.priority == throttle.High {
			high++
		}
	}
	n := float64(len(arrivals))
	if math.Abs(modest/n-0.1) > 0.01 || math.Abs(high/n-0.1) > 0.01 {
		t.Errorf("got %.3f of modest tenants and %.3f High, want 0.1 each", modest/n, high/n)
	}
}

func TestModestSuccess(t *testing.T) {
	r := run{row: row{length: time.Second}}
	for i, o := range []outcome{good, good, shed, good} {
		r.records = append(r.records, record{arrival: arrival{at: time.Duration(i), tenant: "a"}, outcome: o})
	}
	r.records = append(r.records, record{arrival: arrival{at: 5, tenant: greedyTenant}, outcome: shed})
	if got := r.modestSuccess(); got != 75 {
		t.Errorf("got %v want 75", got)
	}
}
