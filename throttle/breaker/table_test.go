package breaker_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestASlowTableTakesNothingBack has one goroutine take long to make a table, because of ForTenant, while another one learns of a change.
func TestASlowTableTakesNothingBack(t *testing.T) {
	early, slow := keysOfShard(3, 1)[0], breaker.Key{Tenant: "slow"}
	for slow.RecordID().Shard() <= 3 {
		slow.ID += "x"
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var slowed atomic.Bool
	store, ctx := breaker.NewMemoryStore(), t.Context()
	hand := agent(t, breaker.Config{Store: store})
	must(t, hand.Disable(ctx, slow))
	m := agent(t, breaker.Config{Store: store, ForTenant: func(tenant string, c breaker.Config) breaker.Config {
		if tenant == slow.Tenant && !slowed.Swap(true) {
			close(begun)
			<-goOn
		}
		return c
	}})
	ended := make(chan error)
	go func() { ended <- m.Refresh(ctx) }()
	<-begun
	err := errors.Join(hand.Disable(ctx, early), m.Refresh(ctx))
	close(goOn)
	must(t, err, <-ended)
	wants(t, m.CanExecute(ctx, early), breaker.ErrDisabled, "from a table that was begun earlier")
}

// TestProbesOfAnEarlierTripCountForNothing lets a circuit trip twice, the second time by its probes, and then recover.
func TestProbesOfAnEarlierTripCountForNothing(t *testing.T) {
	k := breaker.Key{ID: "a"}
	succeed := func(s *scene) { _ = s.actor().Circuit(k).Do(s.Context(), succeeding) }
	pause := wait(10 * time.Millisecond)
	play(t, scenario{
		name: "two probes", memory: true, config: breaker.Config{BreakerTimeout: time.Second, HalfOpenProbes: 2},
		steps: steps(fail(10, k), sampled, wait(2*time.Second), times(4, fail(1, k), pause), sampled, is(breaker.Open, 2, k),
			wait(2*time.Second), times(4, succeed, pause), sampled, is(breaker.Closed, 2, k)),
	})
}
