package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// A breaker for one process, as the README has it: Run polls the breaker's own counter once a second.
func ExampleManager_Run() {
	ctx, stop := context.WithCancel(context.Background())
	charge := func(context.Context, int) error { return errors.New("connection refused") }

	m := breaker.Must(breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second}))
	go func() { _ = m.Run(ctx) }()
	err := m.Circuit(breaker.Key{ID: "stripe"}).Do(ctx, func(ctx context.Context) error {
		return charge(ctx, 100) // your call; errors.Is(err, throttle.ErrShed) if it was not made
	})

	stop()
	fmt.Println(err)
	// Output:
	// connection refused
}
