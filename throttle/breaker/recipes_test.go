package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// A breaker for one process. It needs no Run: calls drive its rounds.
func ExampleCircuit_Do() {
	ctx := context.Background()
	charge := func(context.Context, int) error { return errors.New("connection refused") }

	m := breaker.Must(breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second}))
	err := m.Circuit(breaker.Key{ID: "stripe"}).Do(ctx, func(ctx context.Context) error {
		return charge(ctx, 100) // your call; errors.Is(err, throttle.ErrShed) if it was not made
	})

	_ = m.Close()
	fmt.Println(err)
	// Output:
	// connection refused
}
