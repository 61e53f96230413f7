//go:build !race

package otelthrottle_test

// raceEnabled says that the race detector is watching.
const raceEnabled = false
