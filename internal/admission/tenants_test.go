package main

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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
