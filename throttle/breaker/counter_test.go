package breaker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestCounterCountsOverItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := breaker.NewCounter(time.Minute)
		a, b := breaker.Key{ID: "a"}, breaker.Key{Tenant: "x", ID: "a"}
		c.Failure(a)
		c.Failure(a)
		c.Success(b)
		none, ofB := map[breaker.Key]time.Duration{}, map[breaker.Key]time.Duration{b: time.Minute}
		for _, tt := range []struct {
			sleep time.Duration
			least float64
			since map[breaker.Key]time.Duration
			want  string
		}{
			{0, 0, none, "2 {2 0 0} {0 1 0}"},
			{0, 2, none, "1 {2 0 0} {0 0 0}"},
			{0, 3, none, "0 {0 0 0} {0 0 0}"},
			{0, 3, ofB, "1 {0 0 0} {0 1 0}"},
			{57 * time.Second, 0, none, "2 {2 0 0} {0 1 0}"},
			{7 * time.Second, 0, none, "2 {0 0 0} {0 0 0}"},
			{2 * time.Minute, 0, none, "0 {0 0 0} {0 0 0}"},
		} {
			time.Sleep(tt.sleep)
			n, err := c.Poll(t.Context(), breaker.PollQuery{Window: time.Minute, MinFailures: tt.least, Since: tt.since})
			if got := fmt.Sprint(len(n), n[a], n[b]); err != nil || got != tt.want || c.Dropped() != 0 {
				t.Errorf("after %v, least %v: got %s, error %v, %d dropped, want %s", tt.sleep, tt.least, got, err, c.Dropped(), tt.want)
			}
		}
	})
}

func TestCounterLosesNothing(t *testing.T) {
	const workers, each, keys = 16, 2000, 10
	c := breaker.NewCounter(time.Hour)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				k := breaker.Key{ID: fmt.Sprint(i % keys)}
				if (w+i/keys)%2 == 0 {
					c.Failure(k)
				} else {
					c.Success(k)
				}
			}
		})
	}
	all.Wait()
	for i := range keys {
		wantCounted(t, c, breaker.Key{ID: fmt.Sprint(i)}, "1600 failed, 1600 succeeded")
	}
}

func ExampleCounter() {
	c := breaker.NewCounter(time.Minute)
	for range 10 {
		c.Failure(breaker.Key{ID: "orders"})
	}
	c.Success(breaker.Key{ID: "orders"})
	counts, err := c.Poll(context.Background(), breaker.PollQuery{Window: time.Minute})
	fmt.Println(counts, err, c.Dropped())
	// Output: map["orders":{10 1 0}] <nil> 0
}

// TestCounter_PolledMoreOftenThanCalled checks that polls do not make a circuit look idle.
func TestCounter_PolledMoreOftenThanCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := breaker.NewCounter(time.Minute), breaker.Key{ID: "k"}
		for second := range 600 {
			if got, _ := c.Poll(t.Context(), breaker.PollQuery{}); second > 60 && got[k].Failures < 6 {
				t.Fatalf("after %d s: got %v failures want 6 a minute", second, got[k].Failures)
			}
			if second%10 == 5 {
				c.Failure(k)
			}
			time.Sleep(time.Second)
		}
	})
}
