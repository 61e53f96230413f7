package otelthrottle

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// wantLimiters fails the test unless the adapter keeps so many limiters of the source called geocoder.
func (tel *Telemetry) wantLimiters(t testing.TB, open, draining int) {
	t.Helper()
	n := 0
	tel.buckets.members.Range(func(any, any) bool { n++; return true })
	s := tel.buckets.sources["geocoder"]
	if len(s.open) != open || len(s.draining) != draining || n != open || len(tel.buckets.order) != 1 {
		t.Errorf("limiters open, draining and known, and sources: got %d, %d, %d and %d want %d, %d, %d and 1",
			len(s.open), len(s.draining), n, len(tel.buckets.order), open, draining, open)
	}
}

// TestClosedLimitersLeaveNothing makes and closes 3,000 limiters, and asks the garbage collector about one more.
func TestClosedLimitersLeaveNothing(t *testing.T) {
	tel, reader := adapter(t)
	hooks := tel.BucketHooks()
	closedLimiter := func() *bucket.Limiter {
		l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(5), Hooks: hooks}))
		if _, err := l.AllowN(context.Background(), "a", 2); err != nil {
			t.Fatalf("AllowN: got error %v want nil", err)
		}
		_ = l.Close()
		return l
	}
	for range 3000 {
		closedLimiter()
	}
	gone := weak.Make(closedLimiter())
	tel.wantLimiters(t, 0, 0)
	if got := tel.buckets.sources["geocoder"].retired; got != (bucketReading{granted: 3001, tokens: 6002}) {
		t.Errorf("totals of the closed: got %+v want 3001 granted, 6002 tokens", got)
	}
	if got := collected(t, reader); got != 0 {
		t.Errorf("series: got %d want 0", got)
	}
	runtime.GC()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("got a closed limiter still there, want it collected")
	}
	runtime.KeepAlive(tel)
}

// TestLimiterDrains has a limiter leave while somebody waits, of whom it may be told yet.
func TestLimiterDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, reader := adapter(t)
		l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Hour), Hooks: tel.BucketHooks()}))
		answers := make(chan error, 1)
		if _, err := l.Allow(t.Context(), ""); err != nil {
			t.Fatalf("Allow: got error %v want nil", err)
		}
		go func() { answers <- l.Wait(context.Background(), "", 1) }()
		synctest.Wait()
		tel.buckets.leave(l) // as Close does, which also ends the wait, at any time
		tel.wantLimiters(t, 0, 1)
		if got := collected(t, reader); got != 0 {
			t.Errorf("series: got %d want 0", got)
		}
		tel.wantLimiters(t, 0, 1)
		_ = l.Close()
		if err := <-answers; !errors.Is(err, bucket.ErrClosed) {
			t.Errorf("Wait: got error %v want %v", err, bucket.ErrClosed)
		}
		synctest.Wait()
		if got := collected(t, reader); got != 0 {
			t.Errorf("series: got %d want 0", got)
		}
		tel.wantLimiters(t, 0, 0)
	})
}

// TestTokensBeyondAnInt64 stay at the highest there is, and do not become negative.
func TestTokensBeyondAnInt64(t *testing.T) {
	tel, _ := adapter(t)
	c := bucketCollection{instruments: &tel.instruments.buckets, labels: newBucketLabels("geocoder", nil)}
	for n, want := range map[uint64]int64{0: 0, 7: 7, math.MaxInt64: math.MaxInt64, math.MaxInt64 + 1: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		var o lastObserved
		c.to = &o
		c.count(c.instruments.tokens, n, c.labels.source)
		if o.value != want {
			t.Errorf("%d tokens: got %d want %d", n, o.value, want)
		}
	}
}

// lastObserved remembers what it was told last.
type lastObserved struct {
	metric.Observer
	value int64
}

func (o *lastObserved) ObserveInt64(_ metric.Int64Observable, value int64, _ ...metric.ObserveOption) {
	o.value = value
}
