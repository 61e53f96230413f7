package main

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// answer is a server inside the test.
type answer func(r *http.Request) (*http.Response, error)

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// with answers with a status after a delay, unless the client has left.
func with(status int, delay time.Duration) answer {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(delay):
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("done\n"))}, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

func meterOf(a answer) *meter {
	m := newMeter("http://server")
	m.client = &http.Client{Transport: a}
	return m
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func TestTheMix(t *testing.T) {
	const n = 1000
	var drawn [4]int
	for i := range n {
		drawn[draw((float64(i)+0.5)/n)]++
	}
	equal(t, "requests by kind", drawn, [4]int{100, 200, 300, 400})
	equal(t, "kind of the last one", draw(math.Nextafter(1, 0)), 3)
	for i, k := range kinds() {
		equal(t, "priority, the highest first", k.priority, throttle.High+throttle.Priority(i))
	}
}

// TestTheLoad sends requests for ten seconds of virtual time: by chance, to both servers, whatever becomes of them. After a pause
// it sends those of a second at once.
func TestTheLoad(t *testing.T) {
	for _, tt := range []struct {
		capacity, factor float64
		burst            int64
		delay, pause     time.Duration
	}{
		{200, 3, 0, time.Millisecond, 0},
		{200, 3, 0, time.Hour, 0},
		{200, 3, 0, time.Millisecond, time.Minute},
		{20, 0.1, 0, time.Millisecond, 0}, // gaps are longer than a step
		{200, 0, 0, time.Millisecond, 0},
		{200, 0, 400, time.Millisecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent [2]atomic.Int64
			l := &load{capacity: tt.capacity}
			for i := range sent {
				slow := with(http.StatusOK, tt.delay)
				l.servers = append(l.servers, meterOf(func(r *http.Request) (*http.Response, error) {
					sent[i].Add(1)
					return slow(r)
				}))
			}
			l.set(tt.factor)
			l.burst.Add(tt.burst)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			l.run(ctx, time.Now().Add(-tt.pause))
			want := (10+min(tt.pause, maxCatchUp).Seconds())*tt.factor*tt.capacity + float64(tt.burst)
			if got := float64(sent[0].Load()); math.Abs(got-want) > 6*math.Sqrt(want-float64(tt.burst)) || got != float64(sent[1].Load()) {
				t.Errorf("%+v: got %v and %v requests want about %v to both", tt, got, sent[1].Load(), want)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		answer answer
		want   outcome
	}{
		{with(http.StatusOK, patience-1), good},
		{with(http.StatusOK, patience+1), late},
		{with(http.StatusServiceUnavailable, 0), shed},
		{with(http.StatusInternalServerError, 0), failed},
		{func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			equal(t, "outcome", fetch(t.Context(), &http.Client{Transport: tt.answer}, "http://server/cart"), tt.want)
		})
	}
	equal(t, "outcome of a wrong URL", fetch(t.Context(), http.DefaultClient, "http://[/"), failed)
}
