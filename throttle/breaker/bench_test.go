package breaker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// BenchmarkLookup is the price of a decision by key, and by handle.
func BenchmarkLookup(b *testing.B) {
	ctx := context.Background()
	for _, open := range []int{0, 100} {
		b.Run(fmt.Sprintf("%d_open", open), func(b *testing.B) {
			m, keys := withOpen(b, 1024, open)
			b.Run("key", func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					_ = m.CanExecute(ctx, keys[n%1024])
				}
			})
			b.Run("handle", func(b *testing.B) {
				c := m.Circuit(keys[1023])
				b.ReportAllocs()
				for b.Loop() {
					_ = c.CanExecute(ctx)
				}
			})
			b.Run("run", func(b *testing.B) {
				c := m.Circuit(keys[1023])
				b.ReportAllocs()
				for b.Loop() {
					_ = c.Do(ctx, func(context.Context) error { return nil })
				}
			})
			b.Run("handle/parallel", func(b *testing.B) {
				b.RunParallel(func(pb *testing.PB) {
					c := m.Circuit(keys[1023])
					for pb.Next() {
						_ = c.CanExecute(ctx)
					}
				})
			})
		})
	}
}

// withOpen returns a manager some of whose circuits are open by hand: the first ones.
func withOpen(b *testing.B, n, open int) (*breaker.Manager, []breaker.Key) {
	m, err := breaker.New(breaker.Config{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]breaker.Key, n)
	for i := range keys {
		keys[i] = breaker.Key{Tenant: "tenant", ID: fmt.Sprintf("https://endpoint-%04d.example/hooks", i)}
	}
	for _, k := range keys[:open] {
		if err := m.ForceOpen(context.Background(), k); err != nil {
			b.Fatal(err)
		}
	}
	return m, keys
}
