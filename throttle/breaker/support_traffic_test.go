package breaker_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// traffic is what a fleet sends to its endpoints. It remembers how the calls ended, as the table of deliveries of a real fleet does:
// its poll counts what all agents saw.
type traffic struct {
	mu      sync.Mutex
	rng     *rand.Rand
	log     map[breaker.Key][]delivery
	made    map[breaker.Key]int
	refused map[breaker.Key]int
}

// call makes one call, which fails with the probability, and returns what the breaker said.
func (f *traffic) call(ctx context.Context, m *breaker.Manager, k breaker.Key, failing float64) error {
	err := m.CanExecute(ctx, k)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.refused[k]++
		return err
	}
	f.made[k]++
	f.note(k, f.rng.Float64() < failing)
	return nil
}

// note notes how a call ended. The lock is held.
func (f *traffic) note(k breaker.Key, failed bool) {
	now, log := time.Now(), f.log[k]
	if len(log) == 0 || !log[len(log)-1].at.Equal(now) {
		log = append(log, delivery{at: now})
	}
	last := &log[len(log)-1]
	if failed {
		last.failures++
	} else {
		last.successes++
	}
	f.log[k] = log
}

// end records how a call ended that another goroutine began.
func (f *traffic) end(k breaker.Key, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(k, failed)
}

// poll is a [breaker.PollFunc].
func (f *traffic) poll(_ context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, results := time.Now(), map[breaker.Key]breaker.PollResult{}
	for k, log := range f.log {
		span, asked := q.Since[k]
		if !asked {
			span = q.Window
		}
		var n breaker.PollResult
		for i := len(log) - 1; i >= 0 && now.Sub(log[i].at) <= span; i-- {
			n.Failures += log[i].failures
			n.Successes += log[i].successes
		}
		if asked || n.Failures >= q.MinFailures {
			results[k] = n
		}
	}
	return results, nil
}

func (f *traffic) calls(k breaker.Key) (made, refused int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made[k], f.refused[k]
}

// flow makes so many calls per second to an endpoint, in turn from each agent, for as long as more says so, or ever.
func (f *traffic) flow(ctx context.Context, rps int, k breaker.Key, failing float64, agents []*breaker.Manager, more func() bool) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	due := 0
	for n := 0; ctx.Err() == nil && more(); {
		for due += rps; due >= 10; due -= 10 {
			_ = f.call(ctx, agents[n%len(agents)], k, failing)
			n++
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// during makes the calls of flow for a while.
func (f *traffic) during(ctx context.Context, d time.Duration, rps int, k breaker.Key, failing float64, agents ...*breaker.Manager) {
	end := time.Now().Add(d)
	f.flow(ctx, rps, k, failing, agents, func() bool { return time.Now().Before(end) })
}

// delivery is what ended at one instant.
type delivery struct {
	at                  time.Time
	failures, successes float64
}

func newTraffic(seed uint64) *traffic {
	return &traffic{
		rng: rand.New(rand.NewPCG(seed, 8)),
		log: map[breaker.Key][]delivery{}, made: map[breaker.Key]int{}, refused: map[breaker.Key]int{},
	}
}
