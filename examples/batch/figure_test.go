package main

import (
	"math"
	"testing"
	"time"
)

// drawn is a story of two acts, of which the second throttles.
func drawn() *story {
	begun := time.Now()
	s := &story{settings: settings{capacity: 100, workers: 2}, begun: begun, tape: &tape{}}
	s.rows = []row{
		{name: "without a backoff", stretch: stretch{took: time.Hour}},
		{span: "first", capacity: 100, stretch: stretch{took: 2 * time.Second}},
		{span: "first", capacity: 100, stretch: stretch{took: 3 * time.Second}},
		{span: "second", capacity: 200, stretch: stretch{took: 5 * time.Second}},
	}
	for i := range 1001 {
		c := call{at: begun.Add(time.Duration(i) * 10 * time.Millisecond), delay: 10 * time.Millisecond, throttled: i >= 500 && i%2 == 0}
		s.tape.calls = append(s.tape.calls, c)
	}
	return s
}

func TestFigure(t *testing.T) {
	f := drawn().figure()
	if len(f.Panels) != 2 {
		t.Fatalf("panels: got %d want 2", len(f.Panels))
	}
	delays, rates := f.Panels[0][0], f.Panels[1][0]
	dots := func(values []float64) (n int) {
		for _, y := range values {
			if !math.IsNaN(y) {
				n++
				if y != 10 {
					t.Errorf("delay: got %v ms want 10", y)
				}
			}
		}
		return n
	}
	if got := dots(delays.Lines[0].Y); got < fineX/2 || got > fineX+1 {
		t.Errorf("succeeded: got %d dots want one for each of at most %d places", got, fineX)
	}
	if got := dots(delays.Lines[1].Y); got < fineX/4 || got > fineX/2+1 {
		t.Errorf("throttled: got %d dots want one for each place of the second half", got)
	}
	if delays.XMax != 10 || delays.YMax != 10.5 {
		t.Errorf("axes: got up to %v, %v want 10, 10.5", delays.XMax, delays.YMax)
	}
	served, refused := rates.Lines[1].Y, rates.Lines[2].Y
	if a, b := served[10], served[90]; math.Abs(a-100) > 11 || math.Abs(b-50) > 11 {
		t.Errorf("succeeded: got %v and %v a second want 100 and 50", a, b)
	}
	if a, b := refused[10], refused[90]; a != 0 || math.Abs(b-50) > 11 {
		t.Errorf("throttled: got %v and %v a second want 0 and 50", a, b)
	}
}

func TestSpansAndCapacitiesAreThoseOfTheActs(t *testing.T) {
	spans := drawn().spans()
	if len(spans) != 2 || spans[0].Name != "first" || spans[0].From != spans[0].To || spans[1].Name != "second" || spans[1].From != 5 || spans[1].To != 10 {
		t.Errorf("spans: got %+v want the first named and the second shaded", spans)
	}
	limit := drawn().capacities()
	if len(limit.X) != 6 || limit.X[5] != 10 || limit.Y[0] != 100 || limit.Y[5] != 200 {
		t.Errorf("capacities: got %v, %v", limit.X, limit.Y)
	}
}
