package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// A breaker for one process. The manager makes a round in the background each SampleRate. Here Sample
// makes one at once.
func Example() {
	ctx := context.Background()
	m, err := breaker.New(breaker.Config{Name: "charges", BreakerTimeout: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	charges := m.Circuit(breaker.Key{ID: "stripe"})
	for range 10 {
		_ = charges.Do(ctx, func(context.Context) error { return errors.New("connection refused") })
	}
	if err := m.Sample(ctx); err != nil {
		fmt.Println(err)
	}

	err = charges.Do(ctx, func(context.Context) error {
		fmt.Println("never printed")
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, breaker.ErrOpen))
	// Output:
	// breaker: circuit is open: charges, key "stripe"
	// true
}

// A call that returns a value.
func ExampleDo() {
	ctx := context.Background()
	m := breaker.Must(breaker.New(breaker.Config{Name: "rates"}))
	defer m.Close()

	bank := m.Circuit(breaker.Key{ID: "ecb"})
	rate := func(context.Context) (float64, error) { return 1.09, nil } // asks the bank

	fmt.Println(breaker.Do(ctx, bank, rate))
	if err := m.ForceOpen(ctx, bank.Key()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(breaker.Do(ctx, bank, rate))
	fmt.Println(bank.Status().State)
	// Output:
	// 1.09 <nil>
	// 0 breaker: circuit is open: rates, key "ecb"
	// open
}

// Managers of a fleet share a store. Here one disables an endpoint by hand, and the other applies it.
func ExampleManager_Disable() {
	ctx := context.Background()
	store := breaker.NewMemoryStore() // a fleet has sqlstore.NewBreaker or redisstore.NewBreaker
	one := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: store}))
	other := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: store}))

	endpoint := breaker.Key{Tenant: "acme", ID: "https://acme.example/hooks"}
	if err := one.Disable(ctx, endpoint); err != nil {
		fmt.Println(err)
	}
	if err := other.Refresh(ctx); err != nil { // Run does it each second
		fmt.Println(err)
	}
	fmt.Println(other.CanExecute(ctx, endpoint))
	for _, circuit := range other.List() {
		fmt.Println(circuit.Key, circuit.State, circuit.Reason)
	}
	// Output:
	// breaker: circuit is disabled: webhooks, key "acme"/"https://acme.example/hooks"
	// "acme"/"https://acme.example/hooks" disabled by_hand
}
