// Package stores tests the stores of buckets and breakers on real servers, also while a server is
// frozen, killed, flushed or full. The package has only tests, because it needs servers and drivers.
package stores
