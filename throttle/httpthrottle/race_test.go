//go:build race

package httpthrottle_test

// raceEnabled says that the race detector is watching.
const raceEnabled = true
