package window

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

func newWindow(span time.Duration, buckets int) *Window {
	return New(Shape{Span: span, Buckets: buckets, Rows: 1, Stripes: 4})
}

// count counts an event as a user of the package does.
func count(w *Window, now time.Duration, stripe, row, column int) {
	if w.Due(now) {
		w.Roll(now)
	}
	w.Row(stripe, row)[column].Add(1)
}

func sumAt(w *Window, now time.Duration, rows int) []Counts {
	sums := make([]Counts, rows)
	w.ReadAt(now, Reading{Span: sums})
	return sums
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func TestAnEventIsForgottenWithoutPolling(t *testing.T) {
	for _, silence := range []time.Duration{time.Minute + 500*time.Millisecond, 2 * time.Minute, 1000 * time.Hour, maxTime, 1<<63 - 1} {
		w := newWindow(time.Minute, 120)
		count(w, 0, 0, 0, 0)
		equal(t, fmt.Sprintf("after %v of silence", silence), sumAt(w, silence, 1)[0].Accepted, 0)
		count(w, silence, 0, 0, 0)
		equal(t, fmt.Sprintf("an event after %v of silence", silence), sumAt(w, silence, 1)[0].Accepted, 1)
	}
}

func TestTimeGoesOnFromWhereAClockHasJumpedBackTo(t *testing.T) {
	const start = 1000 * time.Hour
	for _, back := range []time.Duration{3 * time.Minute, time.Hour, start, 10 * start, start + 1<<62} {
		w := newWindow(time.Minute, 120)
		count(w, start, 0, 0, 0)
		now := start - back
		count(w, now, 0, 0, 0)
		equal(t, fmt.Sprintf("back by %v", back), sumAt(w, now+30*time.Second, 1)[0].Accepted, 2)
		count(w, now+30*time.Second, 0, 0, 0)
		equal(t, fmt.Sprintf("back by %v", back), sumAt(w, now+62*time.Second, 1)[0].Accepted, 1)
		equal(t, fmt.Sprintf("back by %v", back), sumAt(w, now+92*time.Second, 1)[0].Accepted, 0)
	}
}

func TestTheWindowHoldsNoMoreThanHappenedWhileManyCount(t *testing.T) {
	w := New(Shape{Span: time.Hour, Buckets: 120, Rows: 1})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range 1000 {
				count(w, time.Duration(i)*10*time.Millisecond, w.Pick(), 0, 0)
			}
		})
	}
	all.Wait()
	if got := sumAt(w, 10*time.Second, 1)[0].Accepted; got != 64_000 || w.Total(0, 0) != 64_000 {
		t.Errorf("got %d events in the window and %d in all, want 64000", got, w.Total(0, 0))
	}
}

func TestRollDoesNotWaitForAnotherWithinABucket(*testing.T) {
	w := newWindow(time.Second, 100)
	w.mu.Lock() // another one rolls; waiting for it would never end
	defer w.mu.Unlock()
	w.Roll(w.Width())
	w.Roll(2*w.Width() - 1)
}

func TestRollWaitsForAnotherAfterAPause(t *testing.T) {
	w := newWindow(time.Second, 100)
	w.mu.Lock()
	rolled := make(chan bool)
	go func() {
		w.Roll(time.Hour)
		rolled <- !w.Due(time.Hour)
	}()
	runtime.Gosched()
	w.mu.Unlock()
	if !<-rolled {
		t.Error("Roll returned before the window had moved on: the first event after a pause would be counted before it")
	}
}
