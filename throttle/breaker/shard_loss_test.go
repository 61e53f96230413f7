package breaker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestLoss loses records of a store: managers that have read them keep them, and write them back.
func TestLoss(t *testing.T) {
	k := keysOfShard(7, 4)
	play(t, scenario{
		name: "an outage longer than MaxStale that ends with an empty store", poll: results{}, config: breaker.Config{OnStale: breaker.KeepLast},
		steps: steps(disable(k[0]), runs, wait(5*time.Second), cut, wait(10*time.Minute), flushed, mended, wait(10*time.Second),
			sheds(breaker.ErrDisabled, k[0]), reported(1, breaker.RecordsLost)),
	}, scenario{
		name: "a failover to an older state", agents: 3,
		steps: steps(by(0, disable(k[0], k[1]), byHand((*breaker.Manager).ForceOpen, k[2]), enable(k[1])), by(1, refreshed), failedOver(3),
			by(1, refreshed), by(0, refreshed), by(2, refreshed),
			is(breaker.Disabled, 0, k[0]), is(breaker.Closed, 0, k[1]), is(breaker.Open, 0, k[2])),
	}, scenario{
		// Others write after the failover until the shard's number is what it was.
		name: "a failover that a manager could overlook", agents: 2, poll: results{},
		steps: steps(by(0, disable(k[0], k[1], k[2])), by(1, refreshed), failedOver(2), by(0, refreshed, disable(k[3])),
			by(1, runs, wait(2*time.Minute), sheds(breaker.ErrDisabled, k[3]))),
	}, scenario{
		// The shard's version rises, because a manager that has not read the records writes to it.
		name: "records that vanish before a write", agents: 2, poll: results{k[1]: {Failures: 20}},
		steps: steps(by(0, sampled, disable(k[0]), byHand((*breaker.Manager).ForceClose, k[2])), vanished(k...), wait(time.Second),
			by(1, disable(k[3])), by(0, refreshed), by(1, refreshed),
			sheds(breaker.ErrDisabled, k[0], k[3]), sheds(breaker.ErrOpen, k[1]), sheds(nil, k[2]), forced(true, k[2])),
	}, scenario{
		// A later version of the package wrote over it.
		name: "a record that cannot be read has not vanished",
		steps: steps(disable(k[0]), func(s *scene) { put(s.T, s.store, k[0], `{"v":2}`) }, refreshed, func(s *scene) {
			if r := stored(s.T, s.store, k[0]); len(r) != 1 || !strings.HasPrefix(string(r[0].Data), `{"v":2`) {
				s.Errorf("got %q, want what the later version wrote", r)
			}
		}),
	})
}

// TestLoss_atAnyMoment empties the store under three agents at any moment, again and again, or deletes all
// records but not the versions of their shards. No agent goes by less than it knew, and an agent that
// comes later finds the records in the store.
func TestLoss_atAnyMoment(t *testing.T) {
	disabled, open, unknown, closed := breaker.Key{ID: "disabled"}, breaker.Key{ID: "forced open"}, breaker.Key{ID: "unknown"}, breaker.Key{ID: "forced closed"}
	holds := steps(sheds(breaker.ErrDisabled, disabled), sheds(breaker.ErrOpen, open), sheds(nil, unknown, closed))
	noticed := func(s *scene) {
		if !slices.ContainsFunc(s.all, func(m *breaker.Manager) bool { return m.Stats().Errors.Of(breaker.RecordsLost) > 0 }) {
			s.Error("got no lost records reported, want some")
		}
	}
	for phase := range size(10, 10, 3) {
		begin := 2*time.Second + time.Duration(phase)*(30*time.Second+97*time.Millisecond)
		lost := func(n int, lose step, pause time.Duration) []step {
			return append(steps(kinds, by(0, runs), by(1, runs), by(2, runs), wait(begin), times(n, lose, times(30,
				by(0, holds...), by(1, holds...), by(2, holds...), wait(pause))), by(3, refreshed), by(3, holds...)), noticed)
		}
		play(t, scenario{
			name: fmt.Sprint("flush ", phase), agents: 4, poll: results{}, steps: lost(5, flushed, 100*time.Millisecond),
		}, scenario{ // a shard of the same version is read once in 64 refreshes
			name: fmt.Sprint("vanish ", phase), agents: 4, poll: results{}, steps: lost(1, vanished(disabled, open, closed), 3*time.Second),
		})
	}
}
