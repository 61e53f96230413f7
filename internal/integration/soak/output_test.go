package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutputHearsAlarms(t *testing.T) {
	for _, tt := range []struct {
		said string
		want int
	}{
		{"all is well\n", 0},
		{"==================\nWARNING: DATA RACE\nRead at 0x1\n", 1},
		{"panic: index out of range\n\ngoroutine 1 [running]:\n", 1},
		{"2026/11/21 10:00:00 http: panic serving 127.0.0.1:1: boom\n", 1},
		{"fatal error: concurrent map writes\n", 1},
		{"no panic: it is only a word\n", 0},
		{strings.Repeat("WARNING: DATA RACE\n", 5), mostAlarms + 1},
		{"WARNING: DATA RACE", 0}, // the line may go on
	} {
		o := &output{}
		for _, b := range []byte(tt.said) { // in as many parts as there can be
			_, _ = o.Write([]byte{b})
		}
		if got := o.report().alarms; len(got) != tt.want {
			t.Errorf("%q: got %q want %d", tt.said, got, tt.want)
		}
	}
}

func TestOutputKeepsWhatAnAlarmSays(t *testing.T) {
	o := &output{}
	fmt.Fprint(o, "before\nWARNING: DATA RACE\nRead at 0x1\n", strings.Repeat("more\n", 2*linesOfAlarm))
	alarms := o.report().alarms
	if len(alarms) != 1 || !strings.HasPrefix(alarms[0], "WARNING: DATA RACE\nRead at 0x1\nmore") || strings.Count(alarms[0], "\n") != linesOfAlarm {
		t.Errorf("got %q want it with %d lines", alarms, linesOfAlarm)
	}
}

func TestOutputKeepsBothEnds(t *testing.T) {
	o := &output{}
	for i := range 3 * linesKept {
		fmt.Fprintf(o, "line %d\n", i)
	}
	first, last := o.beginning(), o.report().end
	if !strings.HasPrefix(first, "line 0\n") || !strings.HasSuffix(last, fmt.Sprintf("\nline %d", 3*linesKept-1)) {
		t.Errorf("got %q and %q want the first line and the last", first, last)
	}
	if strings.Count(first, "\n") != linesKept-1 || strings.Count(last, "\n") != linesKept-1 {
		t.Errorf("got %q and %q want %d lines each", first, last, linesKept)
	}
}

func TestOutputCountsTurnsAndPromises(t *testing.T) {
	o := &output{}
	fmt.Fprint(o, "\nOnce more\n  a   at most 5 %  6 %  BROKEN  \n  b  within 1s  2s  late\n  c  0  0  kept\nOnce more and again\nit was late, as ever\n")
	if r := o.report(); r.turns != 1 || len(r.broken) != 1 || r.late != 1 || r.broken[0] != "a   at most 5 %  6 %  BROKEN" {
		t.Errorf("got %d turns, %q broken, %d late want one of each", r.turns, r.broken, r.late)
	}
}
