package breaker_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestStrangersKeysMakeNoCircuits decides about unknown keys and makes calls with them: without failures the store keeps nothing.
func TestStrangersKeysMakeNoCircuits(t *testing.T) {
	store := breaker.NewMemoryStore()
	m := agent(t, breaker.Config{Name: "webhooks", Store: store})
	for i := range 2000 {
		k := breaker.Key{Tenant: fmt.Sprint(i), ID: strings.Repeat("x", i)}
		must(t, m.CanExecute(t.Context(), k))
		must(t, m.Circuit(k).Do(t.Context(), succeeding))
	}
	sample(t, m)
	if got := len(m.List()); got != 0 {
		t.Errorf("got %d circuits want none", got)
	}
	if v, err := store.Versions(t.Context()); err != nil || v.Shards != [breakerstore.NumShards]breakerstore.Version{} {
		t.Errorf("got something in the store, %v, want nothing written", err)
	}
}

// TestHostileRecords has a hostile writer in the store. No record makes a manager panic or hang, and no circuit is open for longer
// than the settings let any be, unless it is disabled or forced, which the store is there to say.
func TestHostileRecords(t *testing.T) {
	const extreme = `"trips":%d,"generation":%d,"changed_at":%d,"open_until":%d,"count_since":%d,"called_at":%d,"failures":%v,"successes":%v`
	for _, state := range []string{"closed", "open", "half_open"} {
		for _, micros := range []int64{math.MinInt64, -1, 1, math.MaxInt64} {
			synctest.Test(t, func(t *testing.T) {
				store, k := breaker.NewMemoryStore(), breaker.Key{ID: "k"}
				m := agent(t, breaker.Config{Name: "webhooks", Store: store, BreakerTimeout: 10 * time.Second, MaxBreakerTimeout: time.Minute})
				put(t, store, k, fmt.Sprintf(`{"v":1,"id":"k","state":%q,`+extreme+`}`, state,
					int64(math.MaxInt64), uint64(math.MaxUint64), micros, micros, micros, micros, math.MaxFloat64, math.MaxFloat64))
				running(t, m)
				time.Sleep(70 * time.Second)
				tries, let := 0, 0
				for ; tries < 60; tries++ { // a half-open circuit lets a few through at a time
					if m.Circuit(k).Do(t.Context(), succeeding) == nil {
						let++
					}
					time.Sleep(time.Second)
				}
				if let == 0 {
					t.Errorf("%s, times of %d: got none of %d calls through after 70 s", state, micros, tries)
				}
			})
		}
	}
}

// TestGarbageInTheStoreIsToldOnce and is no line of the log's own.
func TestGarbageInTheStoreIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	store, k := breaker.NewMemoryStore(), breaker.Key{ID: "k"}
	m := agent(t, breaker.Config{Name: "a\nb", Store: store, Hooks: breaker.LogHooks(slog.New(slog.NewTextHandler(&out, nil)))})
	for _, garbage := range []string{
		"\nlevel=ERROR msg=owned", strings.Repeat("[", 1<<20), `{"v":1,"state":"\nlevel=ERROR"}`, `{"v":1e99}`, `{"v":1,"id":"other","state":"open"}`, "null",
	} {
		put(t, store, k, garbage)
		_ = m.Refresh(t.Context())
		if err := m.CanExecute(t.Context(), k); err != nil {
			t.Errorf("%.40q: got %v want the circuit closed", garbage, err)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 1 || strings.Contains(out.String(), "\nlevel=ERROR") || out.Len() > 1000 {
		t.Errorf("got %d lines of %d bytes want one:\n%.2000s", lines, out.Len(), out.String())
	}
}

// TestTheLeaderIsQuoted has a leader in the store whose name contains a line break.
func TestTheLeaderIsQuoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost []string
		store := newMeddler(breaker.NewMemoryStore())
		m := agent(t, breaker.Config{Store: store, Hooks: breaker.Hooks{Failed: func(e breaker.FailureEvent) {
			if e.Failure == breaker.LeaseLost {
				lost = append(lost, e.Err.Error())
			}
		}}})
		stop := running(t, m)
		time.Sleep(6 * time.Second)
		store.flush()
		owner := "a\nb\x1b[2J" + strings.Repeat("\r", 10_000)
		if _, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: owner, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		stop()
		if len(lost) != 1 || strings.ContainsAny(lost[0], "\n\r\x1b") || len(lost[0]) > 500 {
			t.Errorf("got %.1000q want one line about the leader", lost)
		}
	})
}
