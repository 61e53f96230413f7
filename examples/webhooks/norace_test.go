//go:build !race

package main

import "github.com/spillway-go/spillway/throttle/breaker"

// storeOfTests is none, so that the agents share SQLite.
func storeOfTests() breaker.Store { return nil }
