// Package processor decides which share of the calls that this process serves is shed, because
// goroutines wait too long for a processor.
//
// A [Process] reads Go's scheduler and counts the calls ([Demand]). Its [Controller] computes the share.
package processor

import (
	"log/slog"
	"sync"
)

// sharedProcess is the one process that this program is. Its state is that of Go's scheduler, which the
// program has once.
var sharedProcess = sync.OnceValue(func() *Process {
	var s scheduler
	if missing := s.open(); missing != "" {
		slog.Warn("throttle: the wait for a processor is unknown, because this version of Go lacks a metric: "+
			"no calls are shed for it, everything else works", "metric", missing)
		return nil
	}
	return New(s.read)
})

// Shared returns the process that this program is, or nil if this version of Go does not have the
// metrics.
func Shared() *Process { return sharedProcess() }
