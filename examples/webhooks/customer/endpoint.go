// Package customer is the world that webhooks are sent to: endpoints of tenants, which are well or dead in one way or another, behind one
// HTTP server on the loopback interface.
package customer

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// Health says how an endpoint answers.
type Health uint8

const (
	// Well endpoints take what they are sent.
	Well Health = iota
	// Hanging endpoints never answer: whoever calls has to give up.
	Hanging
	// Refusing endpoints refuse the connection.
	Refusing
	// Failing endpoints answer 500.
	Failing
	// Flaky endpoints answer 503, but for a few times.
	Flaky
)

// String returns the health in a word.
func (h Health) String() string {
	return [...]string{"well", "hanging", "refusing", "failing", "flaky", "unknown"}[min(h, Flaky+1)]
}

// The share of calls that fails at a flaky endpoint, in percent.
const leastFlaky, mostFlaky, flakyStep = 80, 95, 5

// Endpoint is where one customer wants his webhooks.
type Endpoint struct {
	// Number is its place among all endpoints.
	Number int
	// Key names its circuit. The ID is the address that the customer gave, whatever is in it.
	Key breaker.Key
	// Doomed endpoints die in the course of the run. The others must never notice.
	Doomed bool

	health     atomic.Uint32
	failing    int // percent, while it is flaky
	begun      atomic.Uint64
	accepted   atomic.Uint64
	failed     atomic.Uint64
	failedFor  atomic.Int64 // nanoseconds that the last failure took
	diedAtNano atomic.Int64
}

func newEndpoint(number, tenants int) *Endpoint {
	tenant := fmt.Sprintf("tenant-%02d", number%tenants)
	steps := (mostFlaky-leastFlaky)/flakyStep + 1
	return &Endpoint{
		Number:  number,
		Key:     breaker.Key{Tenant: tenant, ID: fmt.Sprintf("https://%s.example:8443/hooks/%d", tenant, number)},
		failing: leastFlaky + flakyStep*(number%steps),
	}
}

// Health returns how the endpoint answers now.
func (e *Endpoint) Health() Health { return Health(e.health.Load()) }

// Set changes how the endpoint answers.
func (e *Endpoint) Set(h Health) {
	if h != Well {
		e.diedAtNano.Store(time.Now().UnixNano())
	}
	e.health.Store(uint32(h))
}

// DiedAt returns when the endpoint fell ill last.
func (e *Endpoint) DiedAt() time.Time { return time.Unix(0, e.diedAtNano.Load()) }

// Begin notes that an attempt to deliver begins.
func (e *Endpoint) Begin() { e.begun.Add(1) }

// End notes how an attempt to deliver has ended, as the dispatcher saw it.
func (e *Endpoint) End(err error, took time.Duration) {
	if err == nil {
		e.accepted.Add(1)
		return
	}
	e.failed.Add(1)

	e.failedFor.Store(int64(took))
}

// Attempts returns how many attempts have begun, how many the endpoint took, and how many failed.
func (e *Endpoint) Attempts() (begun, accepted, failed uint64) {
	return e.begun.Load(), e.accepted.Load(), e.failed.Load()
}

// FailureTook returns how long the last failed attempt kept a worker.
func (e *Endpoint) FailureTook() time.Duration { return time.Duration(e.failedFor.Load()) }
