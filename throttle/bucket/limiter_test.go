package bucket_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func TestNew_Errors(t *testing.T) {
	good := bucket.PerSecond(1)
	tests := []struct {
		name string
		c    bucket.Config
		want string // in the error, or all of it if it begins with the package; "" is none
	}{
		{"empty", bucket.Config{}, "bucket: Config.Name is missing: want 1 to 255 bytes\nbucket: Config.Limit is missing: want a rate, such as bucket.PerSecond(10)"},
		{"capacity", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: -1}}, "bucket: Limit.Capacity is -1: want 1 or more"},
		{"least", bucket.Config{Name: "x", Limit: good}, ""},
		{"long name", bucket.Config{Name: strings.Repeat("x", 300), Limit: good}, `x"... (300 bytes): want 1 to 255 bytes`},
		{"none per second", bucket.Config{Name: "x", Limit: bucket.PerSecond(0).WithBurst(5)}, "Limit.Refill is 0: want 1 or more"},
		{"none per period", bucket.Config{Name: "x", Limit: bucket.Per(0, time.Hour).WithBurst(5)}, "Limit.Refill is 0: want 1 or more"},
		{"one per no time", bucket.Config{Name: "x", Limit: bucket.Every(time.Second / 3e9)}, "Limit.Period is 0s: want 1µs to 8784h0m0s"},
		{"some per no time", bucket.Config{Name: "x", Limit: bucket.Per(5, 0)}, "Limit.Period is 0s: want 1µs to 8784h0m0s"},
		{"none at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(0)}, "Limit.Capacity is 0: want 1 or more"},
		{"less than none at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(-2)}, "Limit.Capacity is -2: want 1 or more"},
		{"many at once", bucket.Config{Name: "x", Limit: bucket.Per(5, time.Hour).WithBurst(1000)}, ""},
		{"refill", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: -1}}, "Limit.Refill is -1: want 1 or more, or 0 for the default"},
		{"refill fast", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: 1e9 + 1}}, "Limit.Refill is 1000000001: want at most one token per nanosecond of Period: 1000000000"},
		{"refill fastest", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Refill: 1e9}}, ""},
		{"period", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Period: -1}}, "Limit.Period is -1ns"},
		{"period long", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Period: math.MaxInt64}}, "Limit.Period is"},
		{"capacity long", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: math.MaxInt64, Refill: 1}}, "want at most 316224000: at one token per 1s that takes ten years to fill"},
		{"fixed, huge", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: math.MaxInt64, Algorithm: bucket.Fixed}}, ""},
		{"algorithm", bucket.Config{Name: "x", Limit: bucket.Limit{Capacity: 1, Algorithm: 7}}, "Limit.Algorithm is 7"},
		{"policy", bucket.Config{Name: "x", Limit: good, OnFailure: 9}, "Config.OnFailure is 9: want LocalShare, FailOpen or FailClosed"},
		{"zero store", bucket.Config{Name: "x", Limit: good, Store: &bucket.MemoryStore{}}, "Config.Store is a nil or zero MemoryStore: want one of NewMemoryStore"},
		{"nil store with a type", bucket.Config{Name: "x", Limit: good, Store: (*bucket.MemoryStore)(nil)}, "Config.Store is a nil or zero MemoryStore"},
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
			case strings.HasPrefix(tt.want, "bucket: ") && err.Error() != tt.want:
				t.Errorf("got %v\nwant %s, and nothing about fields with defaults", err, tt.want)
			}
		})
	}
}

func TestLimiter_ChangesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := map[string]bucket.Limit{"rich": bucket.PerSecond(100), "odd": {Capacity: -1}}
		l := limiter(t, bucket.Config{Limit: bucket.PerSecond(2), LimitFor: func(key string) bucket.Limit { return own[key] }})
		takes := func(key string) (n int64) {
			d, err := l.DecideAtMost(t.Context(), key, 1000)
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
		must(t, l.SetLimit(bucket.PerSecond(20)))
		time.Sleep(10 * time.Second)
		if a, b := takes("poor"), takes("rich"); a != 20 || b != 100 {
			t.Errorf("got %d, %d, want 20, 100", a, b)
		}
	})
}

// TestSetLimit_keepsWhatIsMissing checks that a bucket that lacks 90 tokens lacks as many after a change, if it can.
func TestSetLimit_keepsWhatIsMissing(t *testing.T) {
	for after, remaining := range map[bucket.Limit]int64{
		{Capacity: 100, Refill: 1}:                                        10,
		{Capacity: 1000, Refill: 10}:                                      910,
		{Capacity: 50, Refill: 1000}:                                      0,
		{Capacity: 100, Period: time.Minute, Algorithm: bucket.Fixed}:     10,
		{Capacity: 200, Period: 2 * time.Second, Algorithm: bucket.Fixed}: 110,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, bucket.Config{Limit: bucket.PerSecond(100)})
			must(t, l.Take(t.Context(), "k", 90))
			must(t, l.SetLimit(after))
			d, err := l.Peek(t.Context(), "k")
			must(t, err)
			equals(t, d.Remaining, remaining, "%v", after)
		})
	}
}

// TestLimiter_NilOrZero checks that a nil or zero limiter returns errors.
func TestLimiter_NilOrZero(t *testing.T) {
	for name, l := range map[string]*bucket.Limiter{"nil": nil, "zero": {}} {
		all := requests(l)
		all["SetLimit"] = func(context.Context) error { return l.SetLimit(bucket.PerSecond(1)) }
		for request, ask := range all {
			if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "nil or zero Limiter") {
				t.Errorf("%s: %s: got %v want an error that says so", name, request, err)
			}
		}
		if s := l.Stats(); l.Name() != "" || !reflect.DeepEqual(s, bucket.Stats{}) || l.Close() != nil {
			t.Errorf("%s: got %q and %+v want nothing", name, l.Name(), s)
		}
	}
}

// TestLimiter_PanicOfLimitForInWait checks that the panic propagates to each waiter, and that the
// queue works afterwards.
func TestLimiter_PanicOfLimitForInWait(t *testing.T) {
	for name, store := range map[string]store.Store{"in memory": nil, "elsewhere": newRemote()} {
		bubble(t, name, func(t *testing.T) {
			var hot atomic.Bool
			var told atomic.Int64
			l := limiter(t, bucket.Config{
				Store: store, Limit: bucket.Every(time.Minute),
				LimitFor: func(string) bucket.Limit {
					if hot.Load() {
						panic("limit")
					}
					return bucket.Limit{}
				},
				Hooks: bucket.Hooks{Waited: func(_ context.Context, e bucket.WaitEvent) {
					if told.Add(1); hot.Load() && (e.Err == nil || e.Err.Error() != "bucket: panic of Config.LimitFor: limit") {
						t.Errorf("Waited: got %v want the panic", e.Err)
					}
				}},
			})
			_, _ = l.Decide(t.Context(), "k")
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					equals(t, caught(func() { _ = l.Wait(t.Context(), "k", 1) }), any("limit"), "Wait: the panic")
				})
			}
			synctest.Wait()
			hot.Store(true)
			time.Sleep(time.Minute)
			all.Wait()
			hot.Store(false)
			if s := l.Stats(); s.Waiting != 0 || s.HookPanics != 0 || told.Load() != 3 {
				t.Errorf("got %+v, %d told want no caller waiting, three hooks called", s, told.Load())
			}
			wants(t, l.Wait(t.Context(), "k", 1), nil, "the next")
		})
	}
}

// TestLimiter_PanicOfLimitForAfterALateAnswer checks that the panic is counted, and not as a
// failure of the store.
func TestLimiter_PanicOfLimitForAfterALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hot, thaw := atomic.Bool{}, make(chan struct{})
		l := limiter(t, bucket.Config{Store: slow(bucket.NewMemoryStore(), thaw), Limit: bucket.Every(time.Minute), LimitFor: func(string) bucket.Limit {
			if hot.Load() {
				panic("limit")
			}
			return bucket.Limit{}
		}})
		for range 3 {
			_, _ = l.DecideN(t.Context(), "k", 1)
		}
		hot.Store(true)
		close(thaw)
		synctest.Wait()
		equals(t, l.Stats().HookPanics, 1, "panics")
		equals(t, caught(func() { _ = l.Return(t.Context(), "k", 1) }), any("limit"), "Return: the panic")
	})
}
