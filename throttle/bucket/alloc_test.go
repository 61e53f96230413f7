//go:build !race

package bucket_test

import (
	"context"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestAllocations checks that a request to a bucket in memory does not allocate, except for the
// error of a denial.
func TestAllocations(t *testing.T) {
	ctx, none := context.Background(), context.Context(nil)
	full := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 1e9, Refill: 1e9}})
	empty := limiter(t, bucket.Config{Limit: bucket.Every(1e15)})
	long := strings.Repeat("k", 128) // the longest that is not hashed
	_ = empty.Take(ctx, "k", 1)
	for name, call := range map[string]func(){
		"Allow":          func() { _ = full.Allow(ctx, "k") },
		"Allow, denied":  func() { _ = empty.Allow(ctx, "k") },
		"Decide":         func() { _, _ = full.Decide(ctx, "k") },
		"Decide, long":   func() { _, _ = full.Decide(ctx, long) },
		"Decide, denied": func() { _, _ = empty.Decide(ctx, "k") },
		"DecideN":        func() { _, _ = full.DecideN(ctx, "k", 3) },
		"DecideAtMost":   func() { _, _ = full.DecideAtMost(ctx, "k", 3) },
		"Take":           func() { _ = full.Take(ctx, "k", 1) },
		"Take, nil":      func() { _ = full.Take(none, "k", 1) },
		"Wait":           func() { _ = full.Wait(ctx, "k", 1) },
	} {
		equals(t, testing.AllocsPerRun(1000, call), 0, "%s: allocations", name)
	}
	equals(t, testing.AllocsPerRun(1000, func() { _ = empty.Take(ctx, "k", 1) }), 1, "Take, denied: allocations")
}
