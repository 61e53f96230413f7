package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

func TestOverlap(t *testing.T) {
	at := func(begin, end time.Duration) span { return span{begin: begin, end: end} }
	for _, tt := range []struct {
		name string
		a, b span
		want float64
	}{
		{"same", at(0, 10), at(0, 10), 1},
		{"half", at(0, 10), at(5, 10), 0.5},
		{"shifted", at(0, 10), at(2, 12), 8.0 / 12},
		{"apart", at(0, 10), at(15, 20), -0.25},
	} {
		if got := overlap(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got %v want %v", tt.name, got, tt.want)
		}
		if got := overlap(tt.b, tt.a); got != tt.want {
			t.Errorf("%s, the other way round: got %v want %v", tt.name, got, tt.want)
		}
	}
}

func TestMeasure(t *testing.T) {
	var ops atomic.Uint64
	work := func(rounds int) func() error {
		return func() error {
			ops.Add(1)
			for range rounds {
				_ = noop(context.Background())
			}
			return nil
		}
	}
	one := &subject{group: "g", name: "one", op: work(100), pair: true}
	ten := &subject{group: "g", name: "ten", op: work(1000)}
	wrong := &subject{group: "g", name: "wrong", op: work(1), good: func(error) bool { return false }}
	results := measure([]*subject{one, ten, wrong}, 50, quiet)
	f := newFindings(results)
	if got := f.ratio(0.5, "ten", "one"); got < 5 || got > 20 {
		t.Errorf("ten times the work: got ratio %v, want about 10", got)
	}
	if len(results[1].paired) > 0 {
		t.Errorf("a subject without pair: got %d pairs, want 0", len(results[1].paired))
	}
	if rows := f.warnings(); len(rows) != 1 || rows[0][0] != "wrong" {
		t.Errorf("warnings: got %v, want one about wrong", rows)
	}
	if ops.Load() == 0 {
		t.Error("operations: got 0, want some")
	}
}
