package shop

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/deixis/faults"
)

const (
	// latency is how long the rested backend takes, at least.
	latency = 3 * time.Millisecond
	// slowdown is how much longer it takes when it drowns.
	slowdown = 25 * time.Millisecond
	// silence is the part of the rejected calls that get no answer at all: their callers run out of time.
	silence = 0.1
)

// backend serves as many calls as it can, and rejects the others. It knows nothing of priorities.
type backend struct {
	mu     sync.Mutex
	work   work
	served uint64
	taken  uint64 // served or rejected
}

func newBackend(capacity float64) *backend {
	return &backend{work: newWork(capacity, time.Now())}
}

// call makes a call to the backend, and returns nil if it was served.
func (b *backend) call(ctx context.Context) error {
	served, strain := b.take()
	if !served && rand.Float64() < silence {
		<-ctx.Done() // which has a deadline
		return ctx.Err()
	}
	if !served {
		return faults.Unavailable(0)
	}
	timer := time.NewTimer(latency + time.Duration((strain+rand.Float64()/4)*float64(slowdown)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take decides about a call. The twin's calls are only decided about: nobody waits for their answers.
func (b *backend) take() (served bool, strain float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken++
	served = b.work.take(time.Now())
	if served {
		b.served++
	}
	return served, b.work.strain()
}

// change gives the backend another capacity.
func (b *backend) change(capacity float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.work.change(capacity, time.Now())
}

// totals returns how many calls came, and how many were served.
func (b *backend) totals() (taken, served uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken, b.served
}
