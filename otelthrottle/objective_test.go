package otelthrottle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

func TestWithObjective(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithObjective(0.9995, 300*time.Millisecond)}})
	got := l.read(t)
	equal(t, "success", got[series(semconv.MetricObjective, "objective", "success")], 0.9995)
	equal(t, "p99", got[series(semconv.MetricObjective, "objective", "p99")], 0.3)
	if got := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithObjective(0, 0)}}).read(t).of(semconv.MetricObjective); len(got) > 0 {
		t.Errorf("without objectives: got %v want no series", got)
	}
}

func TestWithObjective_range(t *testing.T) {
	for _, o := range []otelthrottle.Option{
		otelthrottle.WithObjective(1, 0), otelthrottle.WithObjective(99.9, 0), otelthrottle.WithObjective(-0.1, 0), otelthrottle.WithObjective(0.9, -1),
	} {
		if _, err := otelthrottle.New(o); err == nil || !strings.Contains(err.Error(), "otelthrottle: WithObjective(") {
			t.Errorf("New: got error %v want one about WithObjective", err)
		}
	}
}
