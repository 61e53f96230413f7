package shop

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Kind is a kind of call that visitors make.
type Kind struct {
	Name     string
	Priority throttle.Priority
	Share    float64 // of all calls
}

// Kinds returns all kinds, from the highest priority down. The throttle sheds the last kind first.
//
// High is for the few calls that must succeed: a visitor who cannot pay is lost. A full cart is a
// sale that is likely, so it is Important. Most calls are Medium. Low is for calls that the visitor
// does not miss.
func Kinds() [throttle.StandardPriorities]Kind {
	return [...]Kind{
		{"checkout", throttle.High, 0.10},
		{"cart", throttle.Important, 0.20},
		{"browse", throttle.Medium, 0.40},
		{"recommendations", throttle.Low, 0.30},
	}
}

// pick returns the kind for a random number from [0, 1).
func pick(random float64) Kind {
	kinds := Kinds()
	for _, k := range kinds {
		if random < k.Share {
			return k
		}
		random -= k.Share
	}
	return kinds[len(kinds)-1]
}

const (
	// arrivalPeriod is the time between two groups of visitors. A group costs less than a timer for
	// each visitor.
	arrivalPeriod = 5 * time.Millisecond
	// maxCatchUp is the longest time whose visitors arrive at once after the process was paused.
	maxCatchUp = 100 * time.Millisecond
)

// Run makes the calls of the visitors until ctx ends. It returns when the last call has ended.
func (s *Shop) Run(ctx context.Context) {
	ticker := time.NewTicker(arrivalPeriod)
	defer ticker.Stop()
	defer s.visits.Wait()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			s.arrive(context.WithoutCancel(ctx), min(now.Sub(last), maxCatchUp))
			last = now
		}
	}
}

// arrive starts the visits of a span of time: a Poisson process, whose gaps are exponential. Each call also
// goes to the backend without a throttle.
func (s *Shop) arrive(ctx context.Context, span time.Duration) {
	mean := s.Settings().Offered() * span.Seconds()
	for at := rand.ExpFloat64(); at < mean; at += rand.ExpFloat64() {
		s.twin.take()
		v := visit{shop: s, kind: pick(rand.Float64())}
		s.visits.Go(func() { v.serve(ctx) })
	}
}
