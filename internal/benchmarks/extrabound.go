package main

import "fmt"

// extraBound bounds the extra cost of a subject over another, in nanoseconds. It is for subjects so
// cheap that a ratio is meaningless.
type extraBound struct {
	what    string
	subject string
	beside  string
	ns      float64
}

// extraBounds returns the bounds on the decisions of a breaker, a bucket, a backoff and a Retrier.
func extraBounds() []extraBound {
	return []extraBound{
		{"breaker lookup, 1,024 keys - bare call, ns", breakerLookup, floorBare, 50},
		{"breaker handle - bare call, ns", breakerHandle, floorBare, 5},
		{"bucket memory take - bare call, ns", bucketGranted, floorBare, 60},
		{"bucket memory take, denied - bare call, ns", bucketDenied, floorBare, 60},
		{"backoff Wait and Done - bare call, ns", backoffFree, floorBare, 100},
		{"retry around a throttle - allowed call, ns", retryAround, ourAllowed, 15},
		{"retry alone - bare call, ns", retryAlone, floorBare, 15},
	}
}

// extraVerdict returns the row of an extraBound. The verdict is about the medians.
func (f *findings) extraVerdict(a extraBound) []string {
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
