package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// fourRuns are three short runs and one that takes five times as long as each of them, about.
func fourRuns() []run {
	scenario := func(length time.Duration) overload.Scenario {
		phase := overload.Phase{Length: length, Load: overload.Tiers{0.5, 0.5}}
		return overload.Scenario{Capacity: 1000, Cases: []overload.Case{{Phases: []overload.Phase{phase, phase}}}}
	}
	short, long := run{scenario: scenario(time.Second)}, run{scenario: scenario(5 * time.Second)}
	return []run{short, long, short, short}
}

func TestProgressLine(t *testing.T) {
	p := progressOn(&bytes.Buffer{}, fourRuns())
	tests := []struct {
		run    int
		done   float64
		passed time.Duration
		want   string
	}{
		{0, 0, time.Minute, "[                        ]   0 %  0 of 4 runs"},
		{0, 1, time.Millisecond, "[===                     ]  12 %  1 of 4 runs"},
		{1, 0.5, 30 * time.Second, "[==========              ]  43 %  1 of 4 runs  39 s left"},
		{1, 1, 30 * time.Minute, "[=================       ]  74 %  2 of 4 runs  10 min 00 s left"},
		{3, 1, 21 * time.Hour, "[====================    ]  87 %  3 of 4 runs  3 h 00 min left"},
		{2, 1, 22 * time.Hour, "[========================] 100 %  4 of 4 runs  0 s left"},
	}
	for _, tt := range tests {
		p.set(tt.run, tt.done)
		if got := p.line(tt.passed); got != tt.want {
			t.Errorf("run %d at %v: got %q, want %q", tt.run, tt.done, got, tt.want)
		}
	}
}

// TestProgressOnTerminal watches a run of a quarter of a second on a terminal that is a buffer.
func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		p := progressOn(&terminal, fourRuns())
		stop := p.watch()
		time.Sleep(150 * time.Millisecond) // virtual
		p.set(0, 1)
		time.Sleep(100 * time.Millisecond)
		stop()
		var want strings.Builder
		for _, line := range []string{
			"[                        ]   0 %  0 of 4 runs",
			"[                        ]   0 %  0 of 4 runs",
			"[===                     ]  12 %  1 of 4 runs",
			"",
		} {
			want.WriteString("\r\x1b[K" + line)
		}
		if got := terminal.String(); got != want.String() {
			t.Errorf("got %q, want %q", got, want.String())
		}
	})
}

func TestNoProgressOnFile(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := newProgress(file, settings{})
	if p != nil {
		t.Fatal("got a progress on a file, want none")
	}
	stop := p.watch() // a nil progress does nothing
	p.set(0, 1)
	stop()
}
