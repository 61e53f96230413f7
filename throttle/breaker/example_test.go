package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
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
	shared := breaker.NewMemoryStore() // a fleet has sqlstore.NewBreaker or redisstore.NewBreaker
	one := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: shared}))
	other := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: shared}))

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

// Settings for endpoints of customers, some of which are down for days.
func ExampleConfig() {
	m := breaker.Must(breaker.New(breaker.Config{
		Name:                        "webhooks",
		FailureThreshold:            50, // per cent
		SuccessThreshold:            80,
		MinimumRequestCount:         20,
		BreakerTimeout:              30 * time.Second, // doubles with each trip
		MaxBreakerTimeout:           time.Hour,
		Jitter:                      0.2,         // so that not all are probed together
		HalfOpenMax:                 time.Minute, // for endpoints with few calls
		ConsecutiveFailureThreshold: 20,
		Retention:                   30 * 24 * time.Hour,
		MinReporters:                2, // one machine without a network opens no circuit
		PollTimeout:                 2 * time.Second,
		NotifyTimeout:               5 * time.Second,
		Notify:                      func(context.Context, breaker.Event) error { return nil }, // writes to the customer
	}))
	defer m.Close()

	ctx, endpoint := context.Background(), breaker.Key{Tenant: "acme", ID: "https://acme.example/hooks"}
	if err := m.ForceOpen(ctx, endpoint); err != nil {
		fmt.Println(err)
	}
	s := m.Status(endpoint)
	fmt.Printf("%v, by hand: %v, trips: %d, dry run: %v\n", s.State, s.Forced, s.Trips, s.Shadow)
	// Output: open, by hand: true, trips: 0, dry run: false
}

// A program that makes the rounds itself, for example each minute. If its poll fails, circuits stay as they are.
func ExampleManager_Sample() {
	ctx := context.Background()
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "charges",
		Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return nil, errors.New("the database is down")
		},
	}))
	round := func() {
		switch err := m.Sample(ctx); {
		case errors.Is(err, breaker.ErrNotLeading):
			fmt.Println("another process makes the rounds")
		case errors.Is(err, breaker.ErrManagerClosed):
			fmt.Println("too late")
		case err != nil:
			fmt.Println(err)
		}
	}
	round()
	fmt.Println(m.Stats().Errors.Of(breaker.PollFailed), "failed polls")
	_ = m.Close()
	round()
	// Output:
	// breaker: poll failed: the database is down
	// 1 failed polls
	// too late
}

// remoteStore stands for a store that processes share.
type remoteStore struct{ store.Store }

// With FailClosed, calls are shed if the store cannot be read for MaxStale. Here nothing reads it before Run.
func ExampleStalePolicy() {
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "charges", Store: remoteStore{breaker.NewMemoryStore()}, Counter: breaker.NewCounter(time.Minute), OnStale: breaker.FailClosed,
	}))
	defer m.Close()
	err := m.CanExecute(context.Background(), breaker.Key{ID: "stripe"})
	fmt.Println(errors.Is(err, breaker.ErrStale))
	// Output: true
}
