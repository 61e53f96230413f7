package otelthrottle

import (
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestArraysHaveEveryWord compares the lengths of arrays with the enumerations of package throttle.
func TestArraysHaveEveryWord(t *testing.T) {
	if counted := slices.Collect(throttle.Outcomes()); len(counted) != int(numOutcomes) {
		t.Errorf("outcome: got space for %d want %d", numOutcomes, len(counted))
	}
	for value, marshal := range map[string]func() ([]byte, error){"fault": numFaults.MarshalText, "alert": numAlerts.MarshalText} {
		if word, err := marshal(); err == nil {
			t.Errorf("%s: got the word %s beyond the end of the arrays", value, word)
		}
	}
	loads := loadStates()
	for _, load := range []throttle.ReceivedStats{
		{}, {Known: true, Calm: true}, {Known: true}, {Known: true, Overloaded: true}, {Known: true, Doubted: true},
	} {
		if slices.Contains(loads[:], load.String()) != load.Known {
			t.Errorf("load %v: got a series %v want %v", load, !load.Known, load.Known)
		}
	}
}
