package grpcthrottle_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	capacity     = 100 // of the backend, in calls per second
	timesTooMany = 5
)

// crowd makes calls. Each call advances its clock, which is the backend's and the throttle's too:
// the result does not depend on the speed of the machine.
type crowd struct {
	steps         atomic.Int64
	made, success [throttle.StandardPriorities]atomic.Int64
}

// now returns the time of the crowd.
func (c *crowd) now() time.Time {
	return time.Unix(0, c.steps.Load()*int64(time.Second)/(capacity*timesTooMany))
}

// share returns the share of the calls of a priority that succeeded.
func (c *crowd) share(p throttle.Priority) float64 {
	return float64(c.success[p].Load()) / float64(c.made[p].Load())
}

// overload makes calls to a backend for a number of seconds of the crowd's time: a tenth of them
// are High, four tenths Low. The backend has a capacity and knows no priorities.
func (c *crowd) overload(t *testing.T, seconds int, options ...grpc.DialOption) {
	t.Helper()
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: capacity, Now: c.now})
	must(t, err)
	p := open(t, &shop{buy: func(ctx context.Context, _ string) (string, error) {
		return "sold", grpcthrottle.ToStatus(backend.Call(ctx))
	}}, nil, options...)
	var left atomic.Int64
	left.Store(int64(seconds * capacity * timesTooMany))
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for left.Add(-1) >= 0 {
				priority := [...]throttle.Priority{0, 1, 1, 2, 2, 2, 3, 3, 3, 3}[dice.IntN(10)]
				c.steps.Add(1)
				c.made[priority].Add(1)
				if p.buy(throttle.WithPriority(t.Context(), priority)) == nil {
					c.success[priority].Add(1)
				}
			}
		})
	}
	callers.Wait()
	t.Logf("at %d times the capacity: High %.0f %%, Important %.0f %%, Medium %.0f %%, Low %.0f %% succeed", timesTooMany,
		100*c.share(throttle.High), 100*c.share(throttle.Important), 100*c.share(throttle.Medium), 100*c.share(throttle.Low))
}

// TestClient_Overload overloads a backend, without and with a throttle in the client.
func TestClient_Overload(t *testing.T) {
	seconds := 60
	if testing.Short() {
		seconds = 15
	}
	var without, with crowd
	without.overload(t, seconds/3)
	if got := without.share(throttle.High); got > 0.3 {
		t.Errorf("High without a throttle: got %.2f want at most 0.3: there was no overload", got)
	}
	dice := rand.New(rand.NewPCG(3, 4))
	var mu sync.Mutex
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{
		Policy: throttle.Tiered, Now: with.now, Rand: func() float64 { mu.Lock(); defer mu.Unlock(); return dice.Float64() },
	}})
	with.overload(t, seconds, client.DialOptions()...)
	if got := with.share(throttle.High); got < 0.8 {
		t.Errorf("High with the throttle: got %.2f want at least 0.8", got)
	}
	if got, below := with.share(throttle.High), with.share(throttle.Low); got < 2*below {
		t.Errorf("got %.2f of High, %.2f of Low want more than twice as much", got, below)
	}
}
