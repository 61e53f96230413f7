package storetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
)

// open returns new storage, and the func that it returns opens handles on that storage, as two
// managers would.
func ExampleRun() {
	open := func(*testing.T) func() store.Store {
		shared := breaker.NewMemoryStore() // in a real test: a database that is empty, and closed with t.Cleanup
		return func() store.Store { return shared }
	}

	// This is the complete test of a store.
	testStore := func(t *testing.T) { storetest.Run(t, open) }
	_ = testStore

	handle := open(nil)
	ctx, one, two := context.Background(), handle(), handle()
	led, _ := one.Campaign(ctx, store.Candidate{Owner: "agent one", TTL: time.Minute})
	seen, _ := two.Campaign(ctx, store.Candidate{Owner: "agent two", TTL: time.Minute})
	fmt.Println(seen.Owner, "leads, its term is the same:", seen.Term == led.Term)

	other, _ := open(nil)().Campaign(ctx, store.Candidate{Owner: "agent two", TTL: time.Minute})
	fmt.Println(other.Owner, "leads in other storage")

	// Output:
	// agent one leads, its term is the same: true
	// agent two leads in other storage
}
