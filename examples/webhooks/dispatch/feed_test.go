package dispatch

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

func TestFeedIsEven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, quiet := make([]*customer.Endpoint, 4), make([]*customer.Endpoint, 20)
		for i := range quiet {
			quiet[i] = &customer.Endpoint{Number: i}
		}
		for i := range busy {
			busy[i] = &customer.Endpoint{Number: 100 + i}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		q := NewQueue()
		NewFeed(80, busy, quiet, rand.New(rand.NewPCG(1, 0))).Run(ctx, q)
		counts := map[int]int{}
		for _, d := range q.Drain() {
			counts[d.Endpoint.Number]++
		}
		for _, e := range busy {
			if got := counts[e.Number]; got < 99 || got > 100 {
				t.Errorf("busy endpoint: got %d deliveries in 10 s want 100", got)
			}
		}
		for _, e := range quiet {
			if got := counts[e.Number]; got < 19 || got > 20 {
				t.Errorf("quiet endpoint: got %d deliveries in 10 s want 20", got)
			}
		}
	})
}
