//go:build !race

package breaker_test

// raceEnabled says that the race detector is watching.
const raceEnabled = false
