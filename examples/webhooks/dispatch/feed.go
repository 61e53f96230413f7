package dispatch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

// tick is how often the feed looks what is due.
const tick = 5 * time.Millisecond

// Feed is what happens at the tenants, and what their endpoints are to be told of: so many deliveries per second, half of them to the busy
// endpoints, half to the quiet ones, to each in turn.
type Feed struct {
	rate  float64
	rings [2]ring
}

// ring is endpoints in a random order that stays.
type ring struct {
	endpoints []*customer.Endpoint
	next      int
}

func newRing(endpoints []*customer.Endpoint, dice *rand.Rand) ring {
	r := ring{endpoints: append([]*customer.Endpoint(nil), endpoints...)}
	dice.Shuffle(len(r.endpoints), func(i, j int) { r.endpoints[i], r.endpoints[j] = r.endpoints[j], r.endpoints[i] })
	return r
}

func (r *ring) turn() *customer.Endpoint {
	e := r.endpoints[r.next]
	r.next = (r.next + 1) % len(r.endpoints)
	return e
}

// NewFeed returns a feed. There must be endpoints of both kinds.
func NewFeed(rate float64, busy, quiet []*customer.Endpoint, dice *rand.Rand) *Feed {
	return &Feed{rate: rate, rings: [2]ring{newRing(busy, dice), newRing(quiet, dice)}}
}

// Run puts deliveries into the queue until ctx ends. What a slow machine could not put in at its time comes a bit later.
func (f *Feed) Run(ctx context.Context, q *Queue) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	begun, made := time.Now(), 0
	var batch []Delivery
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		batch = batch[:0]
		for goal := int(now.Sub(begun).Seconds() * f.rate); made < goal; made++ {
			batch = append(batch, Delivery{Endpoint: f.rings[made%len(f.rings)].turn(), Due: now})
		}
		q.Put(batch...)
	}
}
