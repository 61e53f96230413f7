package throttle

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// TestQueue_change: more is sent while the queue is short, as much as is accepted at the right length, and less beyond it.
func TestQueue_change(t *testing.T) {
	for length, want := range map[float64]float64{0: 2, 0.2: 1.25, 0.4: 1, 0.7: 0.95, 1: 0.9, 30: 0.9} {
		if got := (queue{length: length}).change(2); math.Abs(got-want) > 1e-9 {
			t.Errorf("length %v: got %v want %v", length, got, want)
		}
	}
}

// TestTiered_queue: the length of the queue decides, and not the rejections of the window.
func TestTiered_queue(t *testing.T) {
	span := []window.Counts{tier(60, 0, 0), tier(60, 40, 0)}
	recent := []window.Counts{tier(20, 0, 0), tier(20, 0, 60)}
	estimates := make([]estimate, len(span))
	for length, change := range map[float64]float64{0.2: 1.25, 0.4: 1, 2: 0.9} {
		tiered(&window.Reading{Span: span, Recent: recent}, alarmed, &terms{2, 0.1, 10, queue{late: true, found: true, length: length}, false}, estimates)
		if want := (100 - change*40) / (80 + 2./64); math.Abs(estimates[1].probability-want) > 1e-12 {
			t.Errorf("length %v: got %v want %v", length, estimates[1].probability, want)
		}
	}
}

// TestTiered_queueTop: High was refused while the queue was too long. The formula would shed for that, the length does not.
func TestTiered_queueTop(t *testing.T) {
	span, recent := []window.Counts{tier(60, 240, 0)}, []window.Counts{tier(40, 0, 0)}
	estimates := make([]estimate, 1)
	for found, want := range map[bool]float64{false: 180. / 310, true: 0} {
		tiered(&window.Reading{Span: span, Recent: recent}, alarmed, &terms{2, 0.1, 10, queue{late: true, found: found, length: 0.2}, false}, estimates)
		if math.Abs(estimates[0].probability-want) > 1e-12 {
			t.Errorf("found %v: got %v want %v", found, estimates[0].probability, want)
		}
	}
}

func TestSmoothed(t *testing.T) {
	var s smoothed
	s.add(time.Second, 1)
	s.add(-time.Hour, 5)
	s.at = time.Second
	if got, want := s.add(3*time.Second, 0), (1-math.Exp(-0.5))*math.Exp(-1); math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v want %v", got, want)
	}
}
