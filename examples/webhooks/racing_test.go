//go:build race

package main

import "github.com/spillway-go/spillway/throttle/breaker"

// storeOfTests is a store in memory: under the race detector SQLite is so slow that no leader gets anything done within its lease.
func storeOfTests() breaker.Store { return breaker.NewMemoryStore() }
