// Package backends tests throttles whose backend becomes slow, in a process of its own, and retries whose backend is killed and comes back.
// The package has only tests.
package backends
