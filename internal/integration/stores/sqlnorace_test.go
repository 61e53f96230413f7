//go:build !race

package stores_test

// How much is done without the race detector.
const (
	sqlDeliveries = 100_000
	sqlWrites     = 170 // of each of twelve writers
)
