package bucket_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// sharded is a store on three servers behind one address. Servers are chosen by the number that is
// the key. The first one fails, at once or after the timeout.
func sharded(hangs bool) faked {
	memory := bucket.NewMemoryStore()
	return faked{memory, func(ctx context.Context, r store.Request) (bucket.Decision, error) {
		if serverOf(r.Key) > 0 {
			time.Sleep(time.Millisecond)
			return memory.Take(ctx, r)
		}
		if hangs {
			<-ctx.Done()
		}
		return bucket.Decision{}, errDown
	}}
}

// serverOf returns the server of a key: 0, 1 or 2.
func serverOf(key string) int {
	n, _ := strconv.Atoi(key)
	return n % 3
}

// cluster is a sharded store that reports which server has a key.
type cluster struct{ faked }

func (cluster) Part(key string) string { return fmt.Sprint("server ", serverOf(key)) }

// TestPart_OneOfThreeServersFails checks that the keys of the other servers are still decided by the
// store.
func TestPart_OneOfThreeServersFails(t *testing.T) {
	for name, hangs := range map[string]bool{"fails": false, "hangs": true} {
		for _, parted := range []bool{false, true} {
			for _, perSecond := range []int{10, 1000} {
				bubble(t, fmt.Sprintf("%s, parted %t, %d/s", name, parted, perSecond), func(t *testing.T) {
					s := sharded(hangs)
					c := bucket.Config{Store: s, Limit: bucket.PerSecond(1000)}
					if parted {
						c.Store = cluster{s}
					}
					l := limiter(t, c)
					var all sync.WaitGroup
					var healthy, byStore atomic.Int64
					random := rand.New(rand.NewPCG(1, 2))
					for range 3000 {
						key := strconv.Itoa(random.IntN(1000))
						all.Go(func() {
							d, err := l.Decide(t.Context(), key)
							if err != nil {
								t.Error(err)
							}
							if serverOf(key) > 0 {
								healthy.Add(1)
								if d.Source == bucket.SourceStore {
									byStore.Add(1)
								}
							}
						})
						time.Sleep(time.Second / time.Duration(perSecond))
					}
					all.Wait()
					if byStore.Load()*100 < healthy.Load()*99 {
						t.Errorf("%d of %d requests for healthy servers were decided by the store, want 99 %%", byStore.Load(), healthy.Load())
					}
				})
			}
		}
	}
}

// TestPart_OneTrial checks that one call is made after a pause, and no other until it has ended.
func TestPart_OneTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := newFailing()
		l := limiter(t, bucket.Config{Store: down, Limit: bucket.PerSecond(1000), OneByOne: true})
		for range 20 {
			_, _ = l.Decide(t.Context(), "k")
		}
		time.Sleep(250 * time.Millisecond)
		before, gate := down.calls.Load(), make(chan struct{})
		down.set(gate, nil)
		var trial bucket.Decision
		go func() { trial, _ = l.Decide(t.Context(), "k") }()
		synctest.Wait()
		begun := time.Now()
		for range 20 {
			decided(t, l, true, bucket.SourcePolicy, "beside the trial")
		}
		if calls := down.calls.Load() - before; calls != 1 || time.Since(begun) > 0 {
			t.Errorf("%d calls after the pause, and the others waited %v; want one call and no wait", calls, time.Since(begun))
		}
		close(gate)
		synctest.Wait()
		if d, _ := l.Decide(t.Context(), "k"); trial.Source != bucket.SourceStore || d.Source != bucket.SourceStore {
			t.Errorf("the trial: %+v, and after it: %+v, want both by the store", trial, d)
		}
	})
}

// TestPart_MaxCalls checks that requests above the bound wait for a call to end, up to half of their
// time and 512 of them, and that those without a call are no failures of the store.
func TestPart_MaxCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, gate := gated()
		l := limiter(t, bucket.Config{Store: slow, Limit: bucket.PerSecond(10), MaxCalls: 20, OnFailure: bucket.FailClosed})
		var all sync.WaitGroup
		var byStore atomic.Int64
		failed := map[time.Duration]int{} // by the time that they waited
		var mu sync.Mutex
		begun := time.Now()
		decide := func(n int) {
			for i := range n {
				all.Go(func() {
					if _, err := l.Decide(t.Context(), fmt.Sprint(n, i)); err == nil {
						byStore.Add(1)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					failed[time.Since(begun)]++
				})
			}
			synctest.Wait()
		}
		after := func(waited time.Duration) int {
			mu.Lock()
			defer mu.Unlock()
			return failed[waited]
		}
		decide(20)
		decide(600)
		if n := after(0); slow.calls.Load() != 20 || n != 600-512 {
			t.Errorf("%d calls, and %d requests failed at once, want 20 calls and all but 512 to wait", slow.calls.Load(), n)
		}
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		equals(t, after(25*time.Millisecond), 512, "failed after half of the timeout")
		decide(30)
		close(gate)
		slow.set(nil, nil)
		all.Wait()
		equals(t, byStore.Load(), 20+30, "decided by the store: those in flight, and those that waited")
	})
}

// TestDeadline_BelowTheTimeout checks that the policy decides shortly before the caller's deadline,
// and that the call counts.
func TestDeadline_BelowTheTimeout(t *testing.T) {
	for _, tt := range []struct {
		name  string
		store func(*remote) store.Store
	}{
		{"alone", func(r *remote) store.Store { return r }},
		{"prompt", func(r *remote) store.Store { return cancelable{r} }},
		{"many", func(r *remote) store.Store { return many{remote: r} }},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			hung, _ := gated()
			l := limiter(t, bucket.Config{Store: tt.store(hung), Limit: bucket.PerSecond(1)})
			decide := func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				begun := time.Now()
				d, err := l.Decide(ctx, "k")
				if err != nil || d.Source != bucket.SourcePolicy || time.Since(begun) > 16*time.Millisecond {
					t.Errorf("got %+v, %v after %v, want the policy after 16ms", d, err, time.Since(begun))
				}
			}
			for range 60 { // some while a call of another one is in flight
				go decide()
				time.Sleep(15 * time.Millisecond)
			}
			synctest.Wait()
			before := hung.calls.Load()
			for range 10 {
				decide()
			}
			if calls := hung.calls.Load() - before; calls > 1 {
				t.Errorf("%d calls, want a pause after 60 without an answer", calls)
			}
			time.Sleep(time.Second)
		})
	}
}
