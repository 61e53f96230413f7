package breaker_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

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
		_, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: owner, TTL: time.Hour})
		must(t, err)
		time.Sleep(time.Minute)
		stop()
		if len(lost) != 1 || strings.ContainsAny(lost[0], "\n\r\x1b") || len(lost[0]) > 500 {
			t.Errorf("got %.1000q want one line about the leader", lost)
		}
	})
}
