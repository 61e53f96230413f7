package retry_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// BenchmarkDo measures a call that needs no retry, beside the same call without a Retrier.
func BenchmarkDo(b *testing.B) {
	ctx := context.Background()
	work := func(context.Context) error { return nil }
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders"}))
	around := throttle.Must(retry.New(retry.Config{Throttle: th}))
	alone := throttle.Must(retry.New(retry.Config{Name: "orders"}))
	for name, do := range map[string]func() error{
		"throttle only":  func() error { return th.Do(ctx, throttle.Medium, work) },
		"with a Retrier": func() error { return around.Do(ctx, throttle.Medium, work) },
		"Retrier alone":  func() error { return alone.Do(ctx, throttle.Medium, work) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
