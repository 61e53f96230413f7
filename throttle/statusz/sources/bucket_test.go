package sources

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// brittleStore is a store that returns errors while it is broken. A limiter takes it for a remote one.
type brittleStore struct {
	store.Store
	broken atomic.Bool
}

func (s *brittleStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	if s.broken.Load() {
		return bucket.Decision{}, errors.New("gone")
	}
	return s.Store.Take(ctx, r)
}

func allow(t *testing.T, l *bucket.Limiter, n int) {
	t.Helper()
	for range n {
		if _, err := l.Decide(t.Context(), ""); err != nil && !errors.Is(err, bucket.ErrStore) {
			t.Errorf("Decide: got error %v want nil", err)
		}
	}
}

// TestBucket_showsRecentTraffic reads once a second, as the page does, while a store fails and recovers, and again after an hour.
func TestBucket_showsRecentTraffic(t *testing.T) {
	for _, tt := range []struct {
		policy bucket.FailurePolicy
		state  string
		level  statusz.Level
		figure string
	}{
		{bucket.FailOpen, "failing open", statusz.Warn, "failed open"},
		{bucket.LocalShare, "local share", statusz.Warn, "decided by local share"},
		{bucket.FailClosed, "failing closed", statusz.Bad, "failed closed"},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &brittleStore{Store: bucket.NewMemoryStore()}
				l := bucket.Must(bucket.New(bucket.Config{
					Name: "geocoder", Store: store, OnFailure: tt.policy,
					Limit: bucket.Limit{Capacity: 10, Refill: 20, Period: time.Minute},
				}))
				source := Bucket(l)
				want(t, source.Status(), "bucket geocoder", "unknown", statusz.OK, map[string]float64{"requests": math.NaN(), "granted": 0, "refill": 20, "capacity": 10})
				time.Sleep(time.Second)
				allow(t, l, 8)
				want(t, source.Status(), "bucket geocoder", "granting", statusz.OK, map[string]float64{"requests": 8, "granted": 8, "tokens granted": 8, "denied": 0})
				store.broken.Store(true)
				allow(t, l, 2)
				time.Sleep(time.Second)
				want(t, source.Status(), "bucket geocoder", tt.state, tt.level, map[string]float64{"store failures": 1, "requests": 5, tt.figure: 2, "granted": 8})
				store.broken.Store(false)
				time.Sleep(20 * time.Second) // longer than failures are remembered
				want(t, source.Status(), "bucket geocoder", "unknown", statusz.OK, map[string]float64{tt.figure: 2, "requests": math.NaN()})
				allow(t, l, 1)
				time.Sleep(time.Second)
				want(t, source.Status(), "bucket geocoder", "granting", statusz.OK, map[string]float64{tt.figure: 2, "requests": 1, "granted": 9})
				time.Sleep(time.Hour)
				source.Status()
				time.Sleep(time.Second)
				want(t, source.Status(), "bucket geocoder", "idle", statusz.OK, map[string]float64{"requests": 0, "waiting": 0})
			})
		})
	}
}

// TestBucket_showsWaitingCallers denies requests, and lets others wait.
func TestBucket_showsWaitingCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Minute)}))
		source := Bucket(l)
		allow(t, l, 4)
		time.Sleep(spacing / 2) // too short for a rate
		want(t, source.Status(), "bucket geocoder", "denying most", statusz.Warn, map[string]float64{"granted": 1, "denied": 3, "requests": math.NaN()})
		some := bucket.Must(bucket.New(bucket.Config{Name: "some", Limit: bucket.Per(2, time.Minute)}))
		denying := Bucket(some)
		allow(t, some, 3)
		want(t, denying.Status(), "bucket some", "denying", statusz.OK, map[string]float64{"granted": 2, "denied": 1})
		time.Sleep(15 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { _ = l.Wait(ctx, "", 1) }()
		}
		synctest.Wait()
		want(t, source.Status(), "bucket geocoder", "waiting", statusz.OK, map[string]float64{"waiting": 3})
		cancel()
		synctest.Wait()
		want(t, source.Status(), "bucket geocoder", "unknown", statusz.OK, map[string]float64{"waiting": 0})
	})
}

// TestBucket_concurrent reads while others count: no difference is negative.
func TestBucket_concurrent(t *testing.T) {
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1)}))
	source := Bucket(l)
	var looking sync.WaitGroup
	for range 8 {
		looking.Go(func() {
			for range 200 {
				allow(t, l, 1)
				if s := source.Status(); s.Level == statusz.Bad || strings.HasPrefix(s.State, "failing") || s.Figures[0].Value > 1e9 {
					t.Errorf("got %s, %v want it granting or denying", s.State, s.Figures)
				}
			}
		})
	}
	looking.Wait()
}
