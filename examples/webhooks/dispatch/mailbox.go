package dispatch

import (
	"context"
	"sync"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// Mailbox is where the customers read that their endpoint was disabled. It may be told of one thing several times, and heeds the first.
type Mailbox struct {
	mu       sync.Mutex
	seen     map[string]bool
	disabled map[breaker.Key]int
	again    int
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox {
	return &Mailbox{seen: map[string]bool{}, disabled: map[breaker.Key]int{}}
}

// Notify is for a breaker's Config.
func (m *Mailbox) Notify(_ context.Context, e breaker.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[e.ID()] {
		m.again++
		return nil
	}
	m.seen[e.ID()] = true
	if e.To == breaker.Disabled {
		m.disabled[e.Key]++
	}
	return nil
}

// Letters returns how many letters say that an endpoint was disabled.
func (m *Mailbox) Letters(k breaker.Key) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disabled[k]
}

// Forget empties the mailbox. What was told before is known still.
func (m *Mailbox) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.disabled)
}

// Again returns how often something was told that had been told before.
func (m *Mailbox) Again() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.again
}
