package otelthrottle_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
)

func TestWithObjective_range(t *testing.T) {
	for _, o := range []otelthrottle.Option{
		otelthrottle.WithObjective(1, 0), otelthrottle.WithObjective(99.9, 0), otelthrottle.WithObjective(-0.1, 0), otelthrottle.WithObjective(0.9, -1),
	} {
		if _, err := otelthrottle.New(o); err == nil || !strings.Contains(err.Error(), "otelthrottle: WithObjective(") {
			t.Errorf("New: got error %v want one about WithObjective", err)
		}
	}
}
