package main

import (
	"context"
	"sync/atomic"
	"testing"
)

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
