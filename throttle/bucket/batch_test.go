package bucket_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestBatcher_SharesStoreCalls sends requests while a store call is in flight. They share the next
// call and get its tokens in order of arrival.
func TestBatcher_SharesStoreCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests, capacity = 300, 180
		store, gate := gated()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: capacity, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var all sync.WaitGroup
		var decisions [requests]bucket.Decision
		for i := range decisions {
			all.Go(func() {
				var err error
				if decisions[i], err = l.Decide(t.Context(), "k"); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(gate)
		all.Wait()
		for i, d := range decisions {
			granted := d.Allowed && d.Granted == 1 && d.RetryAfter == 0
			denied := !d.Allowed && d.Granted == 0 && d.RetryAfter == time.Hour
			if i < capacity && !granted || i >= capacity && !denied {
				t.Errorf("request %d: got %+v want the first %d granted, and the others denied for an hour", i, d, capacity)
			}
		}
		equals(t, store.calls.Load(), 2, "calls")
	})
}

// TestBatcher_CallersLeave ends the contexts of callers. Their tokens go back to the store, and no
// other caller loses one.
func TestBatcher_CallersLeave(t *testing.T) {
	for _, tt := range []struct {
		name     string
		callers  string // s stays, b leaves before the second question, w while it is answered
		capacity int64
		fails    bool   // the bucket is empty and the store fails, so that the policy grants
		want     string // for each caller: g for granted, d for denied, - for an error
		left     int64  // in the bucket
	}{
		{"the first", "bs", 9, false, "-g", 8},
		{"before the question", "sbs", 2, false, "g-g", 0},
		{"while it is answered", "swsws", 9, false, "g-g-g", 6},
		{"without a token", "ssswww", 3, false, "ggg---", 0},
		{"with and without a token", "swswb", 2, false, "g-d--", 1},
		{"with a token of the policy", "swsbs", 9, true, "g-g-g", 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store := newRemote()
			l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: tt.capacity, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute, OnFailure: bucket.FailOpen})
			var err error
			if tt.fails {
				_, _ = l.DecideN(t.Context(), "k", tt.capacity)
				err = errDown
			}
			if got := leaving(t, store, l, err, tt.callers); got != tt.want || left(t, l) != tt.left {
				t.Errorf("callers %s: got %s and %d left want %s and %d", tt.callers, got, left(t, l), tt.want, tt.left)
			}
		})
	}
}

// leaving lets callers ask and leave, while the store answers with an error or without.
func leaving(t *testing.T, store *remote, l *bucket.Limiter, answer error, callers string) string {
	t.Helper()
	first, second := make(chan struct{}), make(chan struct{})
	before, leaveBefore := context.WithCancel(t.Context())
	while, leaveWhile := context.WithCancel(t.Context())
	contexts := map[rune]context.Context{'s': t.Context(), 'b': before, 'w': while}
	got := []byte(callers)
	store.set(first, answer)
	for i, caller := range callers {
		go func() {
			switch d, err := l.Decide(contexts[caller], "k"); {
			case err != nil:
				got[i] = '-'
			case d.Allowed:
				got[i] = 'g'
			default:
				got[i] = 'd'
			}
		}()
		synctest.Wait()
	}
	store.set(second, answer)
	for _, next := range []func(){leaveBefore, func() { close(first) }, leaveWhile, func() { close(second) }} {
		next()
		synctest.Wait()
	}
	store.set(nil, nil)
	return string(got)
}
