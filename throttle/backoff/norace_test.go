//go:build !race

package backoff_test

// raceEnabled says that the race detector is watching.
const raceEnabled = false
