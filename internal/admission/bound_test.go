package main

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestBoundVerdict(t *testing.T) {
	short := row{warm: time.Second, length: 4 * time.Second}
	calm := &run{row: short, capacity: 1, records: each(throttle.High, late, good, good, good, good, shed)}
	busy := &run{row: short, capacity: 1, records: each(throttle.High, good, good, shed, late, held, good), none: calm}
	hopeless := &run{row: short, capacity: 1, records: each(throttle.High, good, late, late, late, late)}
	rescued := &run{row: short, capacity: 1, records: calm.records, none: hopeless}
	for _, c := range []struct {
		bound  bound
		run    *run
		want   string
		missed bool
	}{
		{goodAtLeast(100), calm, "", false},
		{goodAtLeast(30), busy, "missed good >= 30%: 25", true},
		{highAtLeast(25), busy, "", false},
		{highAtLeast(99.5), busy, "missed high >= 99.5%: 25", true},
		{successAtLeast(throttle.Important, 85), busy, "not judged: important >= 85%", false},
		{shedAtMost(50), busy, "", false},
		{shedAtMost(0.5), busy, "missed shed <= 0.5%: 50", true},
		{highNeverShed(), calm, "", false},
		{highNeverShed(), busy, "missed high shed <= 0%: 50", true},
		{p99AtMost(150 * time.Millisecond), calm, "", false},
		{p99AtMost(150 * time.Millisecond), hopeless, "missed p99 <= 150 ms: +Inf", true},
		{highFromStart(80, 2*time.Second), busy, "", false},
		{highFromStart(80, 3*time.Second), busy, "missed high in the first 3s >= 80%: 66.7", true},
		{servedInSecond(1, 80), busy, "", false},
		{servedInSecond(2, 80), busy, "missed good in second 2 to 3 >= 80%: 0", true},
		{nothingShedFrom(5 * time.Second), busy, "", false},
		{nothingShedFrom(4 * time.Second), busy, "missed shed from 4s on <= 0: 1", true},
		{burstShedAtMost(30), busy, "not judged: shed of the bursts <= 30%", false},
		{timesNone(0.98), calm, "not judged: good / none >= 0.98", false},
		{timesNone(0.98), busy, "missed good / none >= 0.98: 0.25", true},
		{timesNone(2), rescued, "", false},
	} {
		if got, missed := c.bound.verdict(c.run); got != c.want || missed != c.missed {
			t.Errorf("%v: got %q, missed %v want %q, %v", c.bound, got, missed, c.want, c.missed)
		}
	}
}
