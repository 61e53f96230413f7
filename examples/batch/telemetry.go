package main

import (
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/backoff/backoffz"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/bucketz"
)

// backoffHooks let the backoff be seen, if anybody looks.
func backoffHooks(w *watch.Server) backoff.Hooks {
	if w == nil {
		return backoff.Hooks{}
	}
	show := func(r *backoff.Responsive) { w.Page.Add(backoffz.Source(r)) }
	return backoff.JoinHooks(w.Adapter.BackoffHooks(), backoff.Hooks{Created: show})
}

// bucketHooks let the bucket be seen.
func bucketHooks(w *watch.Server) bucket.Hooks {
	if w == nil {
		return bucket.Hooks{}
	}
	show := func(l *bucket.Limiter) { w.Page.Add(bucketz.Source(l)) }
	return bucket.JoinHooks(w.Adapter.BucketHooks(), bucket.Hooks{Created: show})
}
