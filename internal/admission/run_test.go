package main

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestFigures of four requests in the first second and one in the second, of which the backend could have served two a second.
func TestFigures(t *testing.T) {
	r := &run{capacity: 2, row: row{length: time.Minute}}
	for i, o := range []outcome{good, good, shed, shed, good} {
		at := time.Duration(i) * 250 * time.Millisecond
		r.records = append(r.records, record{
			arrival: arrival{at: at, tenant: []string{"a", greedyTenant}[i/4], burst: i == 1 || i == 2}, outcome: o, latency: at, lag: 2 * at,
		})
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"served in the first second, above the capacity": {r.servedIn(0), 100},
		"served in the second one, below it":             {r.servedIn(1), 100},
		"seconds":                                        {float64(r.seconds()), 2},
		"shed of the bursts":                             {r.shedOfBursts(), 50},
		"success of modest tenants":                      {r.modestSuccess(), 50},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v want %v", name, c.got, c.want)
		}
	}
	// Latency is that of good answers.
	const ms = time.Millisecond
	if p50, p99, lag := r.latency(0.5), r.latency(0.99), r.lag(); p50 != 250*ms || p99 != 1000*ms || lag != 2000*ms {
		t.Errorf("got p50 %v, p99 %v, lag %v want 250 ms, 1 s and 2 s", p50, p99, lag)
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
