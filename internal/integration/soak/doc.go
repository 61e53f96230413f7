// Package soak runs the examples storefront, webhooks and batch side by side and disrupts them. It reports
// errors, and heap, goroutines or open files that grow.
package soak
