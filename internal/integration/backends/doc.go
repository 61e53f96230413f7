// Package backends tests throttles and retries whose backend is down, becomes slow, or is killed and comes back. What becomes slow
// or is killed is a process of its own. The package has only tests.
package backends
