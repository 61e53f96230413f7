package main

import (
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/bucketz"
)

// hooks let a limiter be seen, if anybody looks.
func hooks(w *watch.Server) bucket.Hooks {
	if w == nil {
		return bucket.Hooks{}
	}
	show := func(l *bucket.Limiter) { w.Page.Add(bucketz.Source(l)) }
	return bucket.JoinHooks(w.Adapter.BucketHooks(), bucket.Hooks{Created: show})
}
