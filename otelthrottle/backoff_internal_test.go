package otelthrottle

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// wantBackoffs fails the test unless the adapter keeps so many backoffs of the source called table.
func (tel *Telemetry) wantBackoffs(t testing.TB, open, draining int) {
	t.Helper()
	n := 0
	tel.backoffs.members.Range(func(any, any) bool { n++; return true })
	s := tel.backoffs.sources["table"]
	if len(s.open) != open || len(s.draining) != draining || n != open || len(tel.backoffs.order) != 1 {
		t.Errorf("backoffs open, draining and known, and sources: got %d, %d, %d and %d want %d, %d, %d and 1",
			len(s.open), len(s.draining), n, len(tel.backoffs.order), open, draining, open)
	}
}

// TestClosedBackoffsLeaveNothing makes and closes 3,000, and asks the garbage collector about one more.
func TestClosedBackoffsLeaveNothing(t *testing.T) {
	tel, reader := adapter(t)
	hooks := tel.BackoffHooks()
	closedBackoff := func() *backoff.Responsive {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", Hooks: hooks}))
		for _, o := range []backoff.Outcome{backoff.Ignored, backoff.Success, backoff.Success, backoff.Throttled} {
			p, err := r.Wait(context.Background())
			if err != nil {
				t.Fatalf("Wait: got error %v want nil", err)
			}
			p.Done(o)
		}
		_ = r.Close()
		return r
	}
	for range 3000 {
		closedBackoff()
	}
	gone := weak.Make(closedBackoff())
	tel.wantBackoffs(t, 0, 0)
	want := backoffReading{ups: 3001, successes: 6002, throttled: 3001, ignored: 3001}
	if got := tel.backoffs.sources["table"].retired; got != want {
		t.Errorf("totals of the closed: got %+v want %+v", got, want)
	}
	if got := collected(t, reader); got != 0 {
		t.Errorf("series: got %d want 0", got)
	}
	runtime.GC()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("got a closed backoff still there, want it collected")
	}
	runtime.KeepAlive(tel)
}

// TestBackoffDrains has one leave while somebody waits, who may make a call yet.
func TestBackoffDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, reader := adapter(t)
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", InitialInterval: time.Second, Hooks: tel.BackoffHooks()}))
		p, err := r.Wait(t.Context())
		if err != nil {
			t.Fatalf("Wait: got error %v want nil", err)
		}
		p.Done(backoff.ThrottledFor(time.Second))
		answers := make(chan error, 1)
		go func() {
			_, err := r.Wait(context.Background())
			answers <- err
		}()
		synctest.Wait()
		tel.backoffs.leave(r) // as Close does, which also ends the wait, at any time
		tel.wantBackoffs(t, 0, 1)
		if got := collected(t, reader); got != 0 {
			t.Errorf("series: got %d want 0", got)
		}
		tel.wantBackoffs(t, 0, 1)
		_ = r.Close()
		if err := <-answers; !errors.Is(err, backoff.ErrClosed) {
			t.Errorf("Wait: got error %v want %v", err, backoff.ErrClosed)
		}
		synctest.Wait()
		if got := collected(t, reader); got != 0 {
			t.Errorf("series: got %d want 0", got)
		}
		tel.wantBackoffs(t, 0, 0)
	})
}
