// Package sources shows circuit breakers, token buckets and backoffs on the page of package
// statusz:
//
//	page.Add(sources.Breaker(manager))
//	page.Add(sources.Bucket(limiter))
//	page.Add(sources.Backoff(responsive))
//
// Add returns a function that removes the source. Call it when the manager, limiter or backoff is
// closed.
//
// It is separate from statusz, so that a program with throttles only does not import the other
// systems.
package sources
