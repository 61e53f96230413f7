package main

import (
	"testing"

	"github.com/spillway-go/spillway/examples/internal/promise"
)

func TestAnActIsJudgedByItsUseAndItsThrottling(t *testing.T) {
	for _, tt := range []struct {
		was  stretch
		kept bool
	}{
		{stretch{written: 90, units: 100}, true},
		{stretch{written: 89, units: 100}, false},
		{stretch{written: 95, throttled: 5, units: 100}, true},
		{stretch{written: 94, throttled: 6, units: 94}, false},
		{stretch{}, false},
	} {
		var p promise.Promises
		judge(&p, "act", tt.was)
		if got := p.Kept(); got != tt.kept || len(p) != 2 {
			t.Errorf("%+v: got %v of %v want %v", tt.was, got, p, tt.kept)
		}
	}
}
