// Package hops tests throttles in two services, one behind the other, whose backend is down. Source,
// services and backend are processes of their own. The package has only tests.
package hops
