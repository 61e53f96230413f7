package throttletest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// newBackend returns a backend with a clock that only the test advances.
func newBackend(t *testing.T, c throttletest.BackendConfig) (*throttletest.Backend, *throttletest.Clock) {
	t.Helper()
	clock := throttletest.NewClock(time.Unix(0, 0))
	c.Now = clock.Now
	return mustBackend(t, c), clock
}

func mustBackend(t *testing.T, c throttletest.BackendConfig) *throttletest.Backend {
	t.Helper()
	return throttle.Must(throttletest.NewBackend(c))
}

// calls makes n calls and returns how many were served.
func calls(t *testing.T, b *throttletest.Backend, n int) int {
	t.Helper()
	served := 0
	for range n {
		if b.Call(t.Context()) == nil {
			served++
		}
	}
	return served
}

// parallel runs f on n goroutines at once, with their numbers, and waits for all.
func parallel(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}
