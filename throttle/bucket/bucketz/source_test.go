package bucketz

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stats  bucket.Stats
		lately traffic
		known  bool
		state  string
		level  statusz.Level
	}{
		{"first look", bucket.Stats{Granted: 7, FailedOpen: 3}, traffic{}, false, "unknown", statusz.OK},
		{"nothing asked", bucket.Stats{Granted: 7, FailedOpen: 3, FailedClosed: 3}, traffic{}, true, "idle", statusz.OK},
		{"granting", bucket.Stats{}, traffic{granted: 1}, true, "granting", statusz.OK},
		{"in line", bucket.Stats{Waiting: 1}, traffic{granted: 1}, true, "waiting", statusz.OK},
		{"in line, at the first look", bucket.Stats{Waiting: 1}, traffic{}, false, "waiting", statusz.OK},
		{"denying", bucket.Stats{Waiting: 1}, traffic{granted: 3, denied: 3}, true, "denying", statusz.OK},
		{"denying most", bucket.Stats{}, traffic{granted: 3, denied: 4}, true, "denying most", statusz.Warn},
		{"failing open", bucket.Stats{}, traffic{granted: 3, denied: 4, failedOpen: 1}, true, "failing open", statusz.Warn},
		{"failing open, not long ago", bucket.Stats{}, traffic{failedOpen: 1}, false, "failing open", statusz.Warn},
		{"local share", bucket.Stats{OnFailure: bucket.LocalShare}, traffic{denied: 4, failedOpen: 1}, true, "local share", statusz.Warn},
		{"local share, used up", bucket.Stats{OnFailure: bucket.LocalShare}, traffic{failedClosed: 4}, true, "local share", statusz.Warn},
		{"failing closed", bucket.Stats{OnFailure: bucket.FailClosed}, traffic{granted: 99, failedClosed: 1}, true, "failing closed", statusz.Bad},
	} {
		if state, level := verdict(&tt.stats, &tt.lately, tt.known); state != tt.state || level != tt.level {
			t.Errorf("%s: got %q and %v want %q and %v", tt.name, state, level, tt.state, tt.level)
		}
	}
}

// brittleStore is a store elsewhere, as far as limiters know, that gives no answer while it is broken.
type brittleStore struct {
	bucket.Store
	broken atomic.Bool
}

func (s *brittleStore) Take(ctx context.Context, r bucket.Request) (bucket.Decision, error) {
	if s.broken.Load() {
		return bucket.Decision{}, errors.New("gone")
	}
	return s.Store.Take(ctx, r)
}

// figure returns the value of a figure.
func figure(t *testing.T, s statusz.Status, name string) float64 {
	t.Helper()
	for _, f := range s.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	t.Errorf("figure %q: got none of %v", name, s.Figures)
	return math.NaN()
}

// want fails the test unless the status is this one.
func want(t *testing.T, got statusz.Status, state string, level statusz.Level, figures map[string]float64) {
	t.Helper()
	if got.Kind != "bucket" || got.Name != "geocoder" || got.State != state || got.Level != level {
		t.Errorf("got %s %s, %s, %v want bucket geocoder, %s, %v", got.Kind, got.Name, got.State, got.Level, state, level)
	}
	for name, value := range figures {
		if f := figure(t, got, name); f != value && !(math.IsNaN(f) && math.IsNaN(value)) {
			t.Errorf("%s: got %v want %v", name, f, value)
		}
	}
}

// allow asks for n tokens, one after another.
func allow(t *testing.T, l *bucket.Limiter, n int) {
	t.Helper()
	for range n {
		if _, err := l.Allow(t.Context(), ""); err != nil && !errors.Is(err, bucket.ErrStore) {
			t.Errorf("Allow: got error %v want nil", err)
		}
	}
}

// TestSourceTellsWhatHappens looks once a second, as the page does, while a store breaks and is mended, and again after an hour.
func TestSourceTellsWhatHappens(t *testing.T) {
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
				source := Source(l)
				want(t, source.Status(), "unknown", statusz.OK, map[string]float64{"requests": math.NaN(), "granted": 0, "refill": 20, "capacity": 10})
				time.Sleep(time.Second)
				allow(t, l, 8)
				want(t, source.Status(), "granting", statusz.OK, map[string]float64{"requests": 8, "granted": 8, "tokens granted": 8, "denied": 0})
				store.broken.Store(true)
				allow(t, l, 2)
				time.Sleep(time.Second)
				want(t, source.Status(), tt.state, tt.level, map[string]float64{"store fails": 1, "requests": 5, tt.figure: 2, "granted": 8})
				store.broken.Store(false)
				time.Sleep(20 * time.Second) // longer than failures are remembered
				want(t, source.Status(), "unknown", statusz.OK, map[string]float64{tt.figure: 2, "requests": math.NaN()})
				allow(t, l, 1)
				time.Sleep(time.Second)
				want(t, source.Status(), "granting", statusz.OK, map[string]float64{tt.figure: 2, "requests": 1, "granted": 9})
				time.Sleep(time.Hour)
				source.Status()
				time.Sleep(time.Second)
				want(t, source.Status(), "idle", statusz.OK, map[string]float64{"requests": 0, "waiting": 0})
			})
		})
	}
}

// TestSourceTellsOfTheLine denies, and lets some wait.
func TestSourceTellsOfTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Minute)}))
		source := Source(l)
		allow(t, l, 4)
		time.Sleep(pace / 2) // too short for a rate
		want(t, source.Status(), "denying most", statusz.Warn, map[string]float64{"granted": 1, "denied": 3, "requests": math.NaN()})
		time.Sleep(15 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { _ = l.Wait(ctx, "", 1) }()
		}
		synctest.Wait()
		want(t, source.Status(), "waiting", statusz.OK, map[string]float64{"waiting": 3})
		cancel()
		synctest.Wait()
		want(t, source.Status(), "unknown", statusz.OK, map[string]float64{"waiting": 0})
	})
}

// TestLooksAreRemembered as many as ten seconds have, however often somebody looks.
func TestLooksAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		var stats bucket.Stats
		for range 1000 {
			stats.Granted++
			if _, lately, _ := r.look(func() bucket.Stats { return stats }); lately.over > memory {
				t.Fatalf("lately: got %v want at most %v", lately.over, memory)
			}
			time.Sleep(50 * time.Millisecond)
		}
		_, lately, known := r.look(func() bucket.Stats { return stats })
		if n := len(r.seen); n > int(memory/pace)+1 || !known || lately.granted != 199 || lately.over != memory {
			t.Errorf("got %d looks, %v and known %v want at most 21, and 199 in ten seconds", n, lately, known)
		}
	})
}

// TestManyMayLook at once: nothing is ever less than it was.
func TestManyMayLook(t *testing.T) {
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1)}))
	source := Source(l)
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

func TestDurationsAreWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond: "1µs", 1500 * time.Millisecond: "1.5s", time.Second: "1s", 10 * time.Second: "10s", time.Minute: "1m",
		90 * time.Second: "1m30s", time.Hour: "1h", 10 * time.Minute: "10m", 24 * time.Hour: "24h", time.Hour + 10*time.Minute: "1h10m",
		time.Hour + time.Second: "1h0m1s",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v): got %q want %q", d, got, want)
		}
	}
}

// TestTheRefillOfAHugeBucket: the last figure is the refill, also of the largest limit.
func TestTheRefillOfAHugeBucket(t *testing.T) {
	limit := bucket.Limit{Capacity: math.MaxInt64, Period: time.Hour, Algorithm: bucket.Fixed}
	figures := Source(bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: limit}))).Status().Figures
	last := figures[len(figures)-1]
	if got := fmt.Sprint(last.Name, " ", last.Value, " ", last.Unit); got != "refill 9.223372036854776e+18 per 1h, fixed" || len(figures) != 8 {
		t.Errorf("got %d figures, the last %s want 8 and the refill per hour", len(figures), got)
	}
}
