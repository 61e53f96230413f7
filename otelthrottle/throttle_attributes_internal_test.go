package otelthrottle

import "testing"

// TestArraysHaveEveryWord compares the lengths of arrays with the enumerations of package throttle.
func TestArraysHaveEveryWord(t *testing.T) {
	for value, marshal := range map[string]func() ([]byte, error){
		"outcome": numOutcomes.MarshalText, "fault": numFaults.MarshalText, "alert": numAlerts.MarshalText,
	} {
		if word, err := marshal(); err == nil {
			t.Errorf("%s: got the word %s beyond the end of the arrays", value, word)
		}
	}
}
