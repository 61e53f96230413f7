package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// bound is what issue 37 requires of a row with our protection.
type bound struct {
	what   string
	atMost bool
	limit  float64
	unit   string
	of     func(*run) float64 // NaN: cannot be judged
}

// String returns the bound as the table prints it.
func (b bound) String() string {
	sign := ">="
	if b.atMost {
		sign = "<="
	}
	return fmt.Sprintf("%s %s %g%s", b.what, sign, b.limit, b.unit)
}

// verdict returns what the table prints of the bound for a run. It is empty if the bound is kept.
func (b bound) verdict(r *run) (text string, missed bool) {
	got := b.of(r)
	switch {
	case math.IsNaN(got):
		return "not judged: " + b.String(), false
	case b.atMost && got <= b.limit, !b.atMost && got >= b.limit:
		return "", false
	}
	return fmt.Sprintf("missed %s: %.3g", b, got), true
}

// share returns a bound on a percentage.
func share(what string, atMost bool, limit float64, of func(*run) float64) bound {
	return bound{what: what, atMost: atMost, limit: limit, unit: "%", of: of}
}

func goodAtLeast(limit float64) bound { return share("good", false, limit, (*run).goodShare) }

func successAtLeast(p throttle.Priority, limit float64) bound {
	return share(p.String(), false, limit, func(r *run) float64 { return count(r.measured(), p).success() })
}

func highAtLeast(limit float64) bound      { return successAtLeast(throttle.High, limit) }
func importantAtLeast(limit float64) bound { return successAtLeast(throttle.Important, limit) }

func p99AtMost(limit time.Duration) bound {
	return bound{what: "p99", atMost: true, limit: limit.Seconds() * 1e3, unit: " ms", of: func(r *run) float64 {
		if count(r.measured())[good] == 0 {
			return math.Inf(1)
		}
		return r.latency(0.99).Seconds() * 1e3
	}}
}

func shedAtMost(limit float64) bound {
	return share("shed", true, limit, func(r *run) float64 { return count(r.measured()).shedShare() })
}

func highNeverShed() bound {
	return share("high shed", true, 0, func(r *run) float64 { return count(r.measured(), throttle.High).shedShare() })
}

func burstShedAtMost(limit float64) bound {
	return share("shed of the bursts", true, limit, (*run).shedOfBursts)
}

// modestAtLeast is about the tenants that send less than their share.
func modestAtLeast(limit float64) bound { return share("the 99", false, limit, (*run).modestSuccess) }

// highFromStart is about the first seconds of the process.
func highFromStart(limit float64, length time.Duration) bound {
	return share(fmt.Sprintf("high in the first %v", length), false, limit, func(r *run) float64 {
		return count(between(r.records, 0, length), throttle.High).success()
	})
}

// servedInSecond is about one second of the load, from 0 on.
func servedInSecond(i int, limit float64) bound {
	return share(fmt.Sprintf("good in second %d to %d", i, i+1), false, limit, func(r *run) float64 { return r.servedIn(i) })
}

// nothingShedFrom counts the requests shed from a time on.
func nothingShedFrom(from time.Duration) bound {
	return bound{what: fmt.Sprintf("shed from %v on", from), atMost: true, of: func(r *run) float64 {
		t := count(between(r.records, from, time.Hour))
		return float64(t[shed] + t[held])
	}}
}

// timesNone compares the good answers with those of the same server without protection.
func timesNone(limit float64) bound {
	return bound{what: "good / none", limit: limit, of: func(r *run) float64 {
		if r.none == nil {
			return math.NaN()
		}
		mine := float64(count(r.measured())[good])
		if none := float64(count(r.none.measured())[good]); none > 0 || mine == 0 {
			return mine / none
		}
		return math.Inf(1)
	}}
}
