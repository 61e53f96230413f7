package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestNewRefusesBadConfigs(t *testing.T) {
	good := bucket.PerSecond(1)
	tests := []struct {
		name string
		c    bucket.Config
		want string // "" is none
	}{
		{"least", bucket.Config{Name: "x", Limit: good}, ""},
		{"name", bucket.Config{Limit: good}, `Config.Name is "": want 1 to 255 bytes`},
		{"no limit", bucket.Config{Name: "x"}, "Limit.Capacity is 0: want 1 or more"},
		{"none per second", bucket.Config{Name: "x", Limit: bucket.PerSecond(0).WithBurst(5)}, "Limit.Refill is -1: want 1 or more"},
		{"none per period", bucket.Config{Name: "x", Limit: bucket.Per(0, time.Hour).WithBurst(5)}, "Limit.Refill is -1: want 1 or more"},
		{"some per no time", bucket.Config{Name: "x", Limit: bucket.Per(5, 0)}, "Limit.Period is -1ns: want 1µs"},
		{"none at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(0)}, "Limit.Capacity is 0: want 1 or more"},
		{"less than none at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(-2)}, "Limit.Capacity is -2: want 1 or more"},
		{"many at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(1000)}, ""},
		{"capacity", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: -1}}, "Limit.Capacity is -1"},
		{"refill", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: -1}}, "Limit.Refill is -1: want 1 or more, or 0 for Capacity"},
		{"refill fast", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: 1e9 + 1}}, "Limit.Refill is 1000000001: want at most one per nanosecond"},
		{"refill fastest", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: 1e9}}, ""},
		{"period", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Period: -1}}, "Limit.Period is -1ns"},
		{"period long", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Period: math.MaxInt64}}, "Limit.Period is"},
		{"capacity long", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: math.MaxInt64, Refill: 1}}, "which at one per 1s takes ten years to fill"},
		{"fixed, huge", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: math.MaxInt64, Algorithm: bucket.Fixed}}, ""},
		{"algorithm", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Algorithm: 7}}, "Limit.Algorithm is 7"},
		{"policy", bucket.Config{Name: "x", Limit: good, OnFailure: 9}, "Config.OnFailure is 9: want FailOpen, FailClosed or LocalShare"},
		{"replicas", bucket.Config{Name: "x", Limit: good, Replicas: -1}, "Config.Replicas is -1: want 1 to 1e6"},
		{"timeout", bucket.Config{Name: "x", Limit: good, StoreTimeout: time.Hour}, "Config.StoreTimeout is 1h0m0s: want 1ms to 1m0s"},
		{"lease", bucket.Config{Name: "x", Limit: good, Lease: -1}, "Config.Lease is -1: want 0 to 1e9, and 0 with OneByOne"},
		{"lease one by one", bucket.Config{Name: "x", Limit: good, Lease: 1, OneByOne: true}, "Config.Lease is 1: want 0 to 1e9, and 0 with OneByOne"},
		{"lease long", bucket.Config{Name: "x", Limit: good, LeaseFor: time.Second}, "Config.LeaseFor is 1s: want 1ms to 100ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := bucket.New(tt.c)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case tt.want != "" && (err == nil || l != nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, %v\nwant %s", l, err, tt.want)
			}
		})
	}
}

func limiter(t *testing.T, c bucket.Config) *bucket.Limiter {
	t.Helper()
	if c.Name == "" {
		c.Name = "test"
	}
	l, err := bucket.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestOddNumbers(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(10)})
	for n, want := range map[int64]error{-1: bucket.ErrNegative, math.MinInt64: bucket.ErrNegative, 11: bucket.ErrExceedsCapacity, math.MaxInt64: bucket.ErrExceedsCapacity} {
		if d, err := l.AllowN(t.Context(), "k", n); !errors.Is(err, want) || d.Allowed {
			t.Errorf("AllowN(%d): %+v, %v, want %v", n, d, err, want)
		}
		if err := l.Wait(t.Context(), "k", n); !errors.Is(err, want) {
			t.Errorf("Wait(%d): %v, want %v", n, err, want)
		}
	}
	if d, err := l.AllowN(t.Context(), "k", 0); err != nil || !d.Allowed || d.Remaining != 10 {
		t.Errorf("AllowN(0): %+v, %v", d, err)
	}
	if d, err := l.AllowAtMost(t.Context(), "k", math.MaxInt64); err != nil || d.Granted != 10 {
		t.Errorf("AllowAtMost(all): %+v, %v", d, err)
	}
	if d, err := l.AllowAtMost(t.Context(), "k", 5); err != nil || d.Allowed || d.RetryAfter <= 0 {
		t.Errorf("AllowAtMost of an empty bucket: %+v, %v", d, err)
	}
	if _, err := l.AllowAtMost(t.Context(), "k", -1); !errors.Is(err, bucket.ErrNegative) {
		t.Errorf("AllowAtMost(-1): %v", err)
	}
	want := bucket.Stats{Name: "test", Granted: 1, Denied: 1, Tokens: 10, Limit: bucket.PerSecond(10)}
	if got := l.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestKeysOfAnyBytes(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	for _, key := range []string{"", ":", "a:b", "\x00", "\xff\xfe", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20+1)} {
		for _, want := range []bool{true, false} {
			if d, err := l.Allow(t.Context(), key); err != nil || d.Allowed != want {
				t.Errorf("%.20q: %v, %v, want %v", key, d.Allowed, err, want)
			}
		}
	}
}

func TestWhatHoldsWithoutTheStore(t *testing.T) {
	for _, hang := range []bool{false, true} {
		tests := []struct {
			policy  bucket.FailurePolicy
			granted int // of ten
			err     error
		}{{bucket.FailOpen, 10, nil}, {bucket.FailClosed, 0, bucket.ErrStore}, {bucket.LocalShare, 2, nil}}
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.policy, hang), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newRemote()
					if store.set(nil, errDown); hang {
						store.set(make(chan struct{}), nil)
					}
					l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 6, Refill: 1, Period: time.Hour}, OnFailure: tt.policy, Replicas: 3})
					granted := 0
					for range 10 {
						begun := time.Now()
						d, err := l.Allow(t.Context(), "k")
						if !errors.Is(err, tt.err) || d.Source != bucket.FromPolicy {
							t.Fatalf("got %+v, %v, want error %v", d, err, tt.err)
						}
						if d.Allowed {
							granted++
						}
						if took := time.Since(begun); took > 50*time.Millisecond {
							t.Errorf("it took %v", took)
						}
					}
					if granted != tt.granted {
						t.Errorf("%d granted, want %d", granted, tt.granted)
					}
					s := l.Stats()
					if s.FailedOpen != uint64(granted) || tt.err != nil && s.FailedClosed != 10 || s.Granted != 0 {
						t.Errorf("stats %+v", s)
					}
				})
			})
		}
	}
}

// TestRequestsAreAskedForTogether: whoever comes while the store is asked shares the next question, and each gets an answer of his own.
func TestRequestsAreAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 600, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var mu sync.Mutex
		var all sync.WaitGroup
		allowed, retries := 0, map[time.Duration]int{}
		for range 1000 {
			all.Go(func() {
				d, err := l.Allow(t.Context(), "k")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					allowed++
				} else {
					retries[d.RetryAfter]++
				}
			})
			synctest.Wait()
		}
		close(gate)
		all.Wait()
		if calls := store.calls.Load(); allowed != 600 || calls != 2 {
			t.Errorf("%d allowed by %d calls, want 600 by 2", allowed, calls)
		}
		if len(retries) != 1 || retries[time.Hour] != 400 {
			t.Errorf("retries %v, want 400 times an hour", retries)
		}
	})
}

func TestACallerWhoLeavesLosesNothingForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(10), StoreTimeout: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := l.Allow(ctx, "k"); left <- err }()
		synctest.Wait()
		stays := make(chan bucket.Decision)
		go func() { d, _ := l.Allow(t.Context(), "k"); stays <- d }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(gate)
		if d := <-stays; !d.Allowed {
			t.Errorf("got %+v", d)
		}
	})
}

func TestLimitsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := map[string]bucket.Limit{"rich": bucket.PerSecond(100), "odd": {Capacity: -1}}
		l := limiter(t, bucket.Config{Limit: bucket.PerSecond(2), LimitFor: func(key string) bucket.Limit { return own[key] }})
		takes := func(key string) (n int64) {
			d, err := l.AllowAtMost(t.Context(), key, 1000)
			if err != nil {
				t.Error(err)
			}
			return d.Granted
		}
		if a, b, c := takes("poor"), takes("rich"), takes("odd"); a != 2 || b != 100 || c != 2 {
			t.Errorf("got %d, %d, %d, want 2, 100, 2", a, b, c)
		}
		if err := l.SetLimit(bucket.Limit{Capacity: -5}); err == nil {
			t.Error("a bad limit was taken")
		}
		if err := l.SetLimit(bucket.PerSecond(20)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if a, b := takes("poor"), takes("rich"); a != 20 || b != 100 {
			t.Errorf("got %d, %d, want 20, 100", a, b)
		}
	})
}
