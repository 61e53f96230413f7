// Package backends tests throttles and retries whose backend is down, becomes slow, or is killed and comes back. Sources, services
// and backends are processes of their own. The package has only tests.
package backends
