package bucket

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// fickle is a store that is slow at times, fails, and finds no connection. After all that, it has decided nothing.
type fickle struct {
	*MemoryStore

	mu     sync.Mutex
	random *rand.Rand
}

func (*fickle) Cancelable() bool { return true }

func (m *fickle) mood(ctx context.Context) error {
	m.mu.Lock()
	n, wait := m.random.IntN(20), time.Duration(m.random.IntN(30))*time.Millisecond
	m.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	return map[int]error{0: errors.New("failed"), 1: store.ErrNotSent, 2: store.ErrNotSent}[n]
}

func (m *fickle) Take(ctx context.Context, r store.Request) (Decision, error) {
	if err := m.mood(ctx); err != nil {
		return Decision{}, err
	}
	return m.MemoryStore.Take(ctx, r)
}

// fickleMany is a fickle store that takes many buckets in one call.
type fickleMany struct{ *fickle }

func (m fickleMany) TakeMany(ctx context.Context, rs []store.Request) []store.Answer {
	answers := make([]store.Answer, len(rs))
	if err := m.mood(ctx); err != nil {
		return slices.Repeat([]store.Answer{{Err: err}}, len(rs))
	}
	for i, r := range rs {
		answers[i].Decision, answers[i].Err = m.MemoryStore.Take(ctx, r)
	}
	return answers
}

// TestLine_Random lets callers of few keys ask, wait and leave at random times, with leases and without. All end, no state
// is left, and no caller got a token that is still in its bucket.
func TestLine_Random(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			m := &fickle{MemoryStore: NewMemoryStore(), random: rand.New(rand.NewPCG(seed, 1))}
			var s store.Store = m
			if seed%2 == 0 {
				s = fickleMany{m}
			}
			const capacity = 1e6
			l := Must(New(Config{Name: "x", Store: s, Limit: Limit{Capacity: capacity, Period: 1000 * time.Hour, Algorithm: Fixed}, OnFailure: FailClosed, MaxCalls: 3, Lease: int64(seed % 3)}))
			var granted atomic.Int64
			var all sync.WaitGroup
			for i := range 60 {
				random := rand.New(rand.NewPCG(seed, uint64(i+2)))
				all.Go(func() {
					for range 20 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(150))*time.Millisecond)
						if random.IntN(2) == 0 {
							ctx = t.Context()
						}
						n := 1 + max(0, random.Int64N(5)-3)
						if key := strconv.Itoa(random.IntN(9)); random.IntN(8) == 0 {
							if l.Wait(ctx, key, n) == nil {
								granted.Add(n)
							}
						} else if d, err := l.DecideN(ctx, key, n); err == nil {
							granted.Add(d.Granted)
						}
						cancel()
						time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Second) // late tokens are given back
			p := l.whole
			p.mu.Lock()
			l.queues.mu.Lock()
			if len(p.keys)+len(p.line)+p.calls+len(l.queues.byKey) > 0 {
				t.Errorf("seed %d: %d keys, %d batches, %d calls and %d queues are left", seed, len(p.keys), len(p.line), p.calls, len(l.queues.byKey))
			}
			l.queues.mu.Unlock()
			p.mu.Unlock()
			gone := int64(0)
			for i := range 9 {
				d, err := m.MemoryStore.Take(t.Context(), store.Request{Key: strconv.Itoa(i), Limit: l.config.Limit})
				if err != nil {
					t.Fatal(err)
				}
				gone += capacity - d.Remaining
			}
			if lost := gone - granted.Load(); lost < 0 || lost > gone/4 { // some cannot be given back
				t.Errorf("seed %d: %d tokens are gone, and callers got %d", seed, gone, granted.Load())
			}
			_ = l.Close()
		})
	}
}

// TestLine_Expires checks that callers who come while the batch of their key expires get a call.
func TestLine_Expires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fickleMany{&fickle{MemoryStore: NewMemoryStore(), random: rand.New(rand.NewPCG(1, 2))}}
		l := Must(New(Config{Name: "x", Store: s, Limit: PerSecond(1), OnFailure: FailClosed}))
		r := store.Request{Key: "k", Limit: l.config.Limit, Min: 1, Max: 1}
		p := l.whole
		p.mu.Lock()
		expired, _ := p.state(r.Key).join(r)
		p.line = []*batch{expired}
		p.expire(l, time.Now())
		next, _ := p.state(r.Key).join(r)
		next.done = make(chan struct{})
		p.mu.Unlock()
		time.Sleep(time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		if !expired.ended || !next.ended || len(p.keys)+p.calls > 0 {
			t.Errorf("expired %t, next ended %t, %d keys and %d calls are left", expired.ended, next.ended, len(p.keys), p.calls)
		}
	})
}
