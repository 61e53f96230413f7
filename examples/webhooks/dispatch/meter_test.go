package dispatch

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

func TestMeterTellsTheDoomedApart(t *testing.T) {
	var m Meter
	live, doomed := Delivery{Endpoint: &customer.Endpoint{}}, Delivery{Endpoint: &customer.Endpoint{Doomed: true}}
	doomed.Endpoint.End(errors.New("no"), 3*time.Second)
	m.note(func(f *Figures) { f.attempted(live, 1, 2, nil) })
	m.note(func(f *Figures) { f.attempted(doomed, 10, 20, errors.New("no")) })
	m.note(func(f *Figures) { f.shed(doomed) })
	m.note(func(f *Figures) { f.shed(doomed) })
	f := m.Read()
	if f.Delivered != 1 || f.Failed != 1 || f.Shed != 2 || f.WorkSaved != 6*time.Second ||
		len(f.Waited) != 1 || f.Waited[0] != 1 || len(f.Answered) != 1 || f.Answered[0] != 2 {
		t.Errorf("Read: got %+v", f)
	}
	if again := m.Read(); again.Delivered != 0 || len(again.Waited) != 0 {
		t.Errorf("Read again: got %+v want nothing", again)
	}
	var sum Figures
	sum.Add(f)
	sum.Add(f)
	if sum.Delivered != 2 || sum.Shed != 4 || len(sum.Waited) != 2 {
		t.Errorf("Add: got %+v want twice as much", sum)
	}
}

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		durations []time.Duration
		share     float64
		want      time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{5, 1, 4, 2, 3}, 0.5, 3},
		{[]time.Duration{5, 1, 4, 2, 3}, 1, 5},
		{[]time.Duration{5, 1, 4, 2, 3}, 0, 1},
	} {
		if got := Quantile(tt.durations, tt.share); got != tt.want {
			t.Errorf("Quantile of %v at %v: got %v want %v", tt.durations, tt.share, got, tt.want)
		}
	}
}
