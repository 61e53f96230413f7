// Package dispatch delivers webhooks: agents, each with workers and a breaker of its own, take deliveries from a queue, make them, and write
// down how they ended. The breakers share a store and read what all agents wrote.
package dispatch

import (
	"time"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

// Delivery is one webhook on its way to one endpoint.
type Delivery struct {
	Endpoint *customer.Endpoint
	Due      time.Time // when it is to be tried next
	Attempts int       // made so far
}
