package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/bucket/storetest"
)

// open opens storage, and the func that it returns opens handles on that storage, as two processes
// would.
func ExampleRun() {
	open := func(*testing.T) func() store.Store {
		shared := bucket.NewMemoryStore() // in a real test: a database
		return func() store.Store { return shared }
	}

	// This is the complete test of a store.
	testStore := func(t *testing.T) { storetest.Run(t, open, storetest.ClockResolution(time.Nanosecond)) }
	_ = testStore

	handle := open(nil)
	ctx, three := context.Background(), bucket.PerSecond(3)
	one, _ := handle().Take(ctx, store.Request{Key: "k", Limit: three, Min: 2, Max: 2})
	two, _ := handle().Take(ctx, store.Request{Key: "k", Limit: three, Min: 2, Max: 2})
	fmt.Println("one handle is granted", one.Granted, "and the other", two.Granted)

	// Output:
	// one handle is granted 2 and the other 0
}

// A history records concurrent operations and checks that they are linearizable.
func ExampleHistory() {
	h := storetest.NewHistory()
	s := h.Of(bucket.NewMemoryStore())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				_, _ = s.Take(context.Background(), store.Request{Key: "k", Limit: bucket.PerSecond(30), Min: 1, Max: 1})
			}
		})
	}
	all.Wait()
	err := h.Check(time.Nanosecond)
	if errors.Is(err, storetest.ErrUndecided) {
		err = nil // too many overlap: record fewer, or try again
	}
	fmt.Println(h.Len(), "operations, error:", err)

	// Output:
	// 40 operations, error: <nil>
}
