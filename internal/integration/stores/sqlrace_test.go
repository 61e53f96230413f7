//go:build race

package stores_test

// How much is done under the race detector, which makes an SQLite written in Go twenty times slower.
const (
	sqlDeliveries = 10_000
	sqlWrites     = 40 // of each of twelve writers
)
