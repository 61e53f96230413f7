// Package sources shows circuit breakers, token buckets, backoffs, retriers and Controls on the
// page of package statusz:
//
//	page.Add(sources.Breaker(manager))
//	page.Add(sources.Bucket(limiter))
//	page.Add(sources.Backoff(responsive))
//	page.Add(sources.Retry(retrier))
//	page.Add(sources.Control(control))
//
// Add returns a function that removes the source. Call it when the manager, limiter or backoff is
// closed: the page shows a closed one as it was last. Hooks do not add sources, so breakers,
// buckets and backoffs that libraries make are shown only if you can pass them to Add.
//
// It is separate from statusz, so that a program with throttles only does not import the other
// systems.
package sources
