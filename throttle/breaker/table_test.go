package breaker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
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
	synctest.Test(t, func(t *testing.T) {
		m := agent(t, breaker.Config{BreakerTimeout: time.Second, HalfOpenProbes: 2})
		c := m.Circuit(breaker.Key{ID: "a"})
		fails(t, m, c.Key(), 10)
		sample(t, m)
		for _, tt := range []struct {
			probe func(context.Context) error
			want  breaker.State
		}{{failing, breaker.Open}, {succeeding, breaker.Closed}} {
			time.Sleep(2 * time.Second)
			for made := 0; made < 2; {
				if err := c.Do(t.Context(), tt.probe); !errors.Is(err, throttle.ErrShed) {
					made++
				}
				time.Sleep(10 * time.Millisecond)
			}
			sample(t, m)
			if got := c.Status().State; got != tt.want {
				t.Errorf("after two probes: got %v want %v", got, tt.want)
			}
		}
	})
}
