package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestAPermitEndsOnce(t *testing.T) {
	counter := breaker.NewCounter(time.Minute)
	m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter}))
	k := breaker.Key{ID: "k"}
	for _, ends := range [][]func(breaker.Permit){
		{func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Finish(throttle.Ignored) }},
		{func(p breaker.Permit) { p.Finish(throttle.Ignored) }, func(p breaker.Permit) { p.Done(errBoom) }},
	} {
		p, err := m.Circuit(k).Acquire(t.Context())
		must(t, err)
		if p.State() != breaker.Closed {
			t.Errorf("state %v", p.State())
		}
		for _, end := range ends {
			end(p)
		}
		if q, err := m.Circuit(k).Acquire(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			p.Done(errBoom) // the ticket may be q's by now
			q.Finish(throttle.Ignored)
		}
	}
	wantCounted(t, counter, k, "1 failed, 0 succeeded")
	var none breaker.Permit
	none.Done(errBoom)
	none.Finish(throttle.Ignored)
	if none.State() != breaker.Closed {
		t.Error("the zero permit has a state")
	}
}

// TestLateResults: the result of a call that was admitted before its circuit changed does not count.
func TestLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := agent(t, breaker.Config{BreakerTimeout: 10 * time.Second}), breaker.Key{ID: "k"}
		c := m.Circuit(k)
		late, err := c.Acquire(t.Context())
		must(t, err)
		fails(t, m, k, 10)
		sample(t, m)
		time.Sleep(11 * time.Second)
		late.Done(errBoom)
		if got := m.Stats().LateResults; got != 1 {
			t.Errorf("%d late results, want 1", got)
		}
		sample(t, m)
		if s := m.Status(k); s.State != breaker.HalfOpen || s.Failures != 0 {
			t.Errorf("%+v: want half-open, without failures", s)
		}
	})
}
