package main

import "fmt"

// allowance is a bound on what a subject costs more than another, in nanoseconds: for what is so cheap that a ratio says nothing.
type allowance struct {
	what    string
	subject string
	beside  string
	ns      float64
}

// allowances are what the decisions of a breaker, a bucket and a backoff may cost.
func allowances() []allowance {
	return []allowance{
		{"breaker lookup, 1,024 keys - bare call, ns", breakerLookup, floorBare, 50},
		{"breaker handle - bare call, ns", breakerHandle, floorBare, 5},
		{"bucket memory take - bare call, ns", bucketGranted, floorBare, 60},
		{"bucket memory take, denied - bare call, ns", bucketDenied, floorBare, 60},
		{"backoff Wait and Done - bare call, ns", backoffFree, floorBare, 100},
	}
}

// allowed is an allowance's line: the verdict is about the medians.
func (f *findings) allowed(a allowance) []string {
	measured := f.extraAt(0.5, a.subject, a.beside)
	verdict := "met"
	switch {
	case measured == 0:
		verdict = "not measured"
	case measured > a.ns:
		verdict = "MISSED"
	}
	return []string{a.what, figure("%.1f", f.extraAt(0.1, a.subject, a.beside)), figure("%.1f", measured), fmt.Sprintf("<= %.0f", a.ns), verdict}
}
