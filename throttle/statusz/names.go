package statusz

import "github.com/spillway-go/spillway/throttle"

// The words of the stream, which has outcomes, faults and causes by their index.

func outcomeNames() []string {
	names := make([]string, throttle.NumOutcomes)
	for o := range names {
		names[o] = throttle.Outcome(o).String()
	}
	return names
}

func faultNames() []string {
	names := make([]string, throttle.NumFaults)
	for f := range names {
		names[f] = throttle.Fault(f).String()
	}
	return names
}

func causeNames() []string {
	names := make([]string, throttle.NumCauses)
	for c := range names {
		names[c] = throttle.Cause(c).String()
	}
	return names
}
