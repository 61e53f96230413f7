package shop

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// beat is how often visitors come in: many at once cost less than each by itself.
	beat = 5 * time.Millisecond
	// hiccup is how much time is made up for at most, when the machine was busy with something else.
	hiccup = 100 * time.Millisecond
)

// Run lets visitors in until ctx ends, and returns when the last of them has been served.
func (s *Shop) Run(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	defer s.visits.Wait()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			s.letIn(context.WithoutCancel(ctx), min(now.Sub(last), hiccup))
			last = now
		}
	}
}

// letIn lets in as many visitors as come in that time.
func (s *Shop) letIn(ctx context.Context, passed time.Duration) {
	for range poisson(s.Settings().Offered() * passed.Seconds()) {
		s.twin.take()
		v := visit{shop: s, kind: pick(rand.Float64())}
		s.visits.Go(func() { v.serve(ctx) })
	}
}

// poisson draws how many independent events happen where so many are expected.
func poisson(expected float64) int {
	if expected > 30 { // the bell curve is near enough
		return max(0, int(math.Round(expected+math.Sqrt(expected)*rand.NormFloat64())))
	}
	n, rest := 0, math.Exp(-expected)
	for p := rand.Float64(); p > rest; p *= rand.Float64() {
		n++
	}
	return n
}
