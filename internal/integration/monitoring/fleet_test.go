package monitoring

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// idleName is a breaker that nobody runs: it has never read its store.
const idleName = "forgotten"

// A fleet is the breakers of an instance: one that does everything, with a store of its own, and one that was forgotten.
type fleet struct {
	busy  *breaker.Manager
	polls atomic.Int64
	turns atomic.Int64
}

// trial is the tenant of the busy breaker for whom it is a dry run.
const trial = "trial"

func newFleet(t testing.TB, hooks breaker.Hooks) *fleet {
	t.Helper()
	f := &fleet{}
	f.busy = breaker.Must(breaker.New(breaker.Config{
		Name: hostileName, Hooks: hooks, Poll: f.poll, StoreTimeout: program.Patience,
		SampleRate: 200 * time.Millisecond, BreakerTimeout: 300 * time.Millisecond, ConsecutiveFailureThreshold: 3,
		ForTenant: func(tenant string, c breaker.Config) breaker.Config {
			c.DryRun = tenant == trial
			return c
		},
	}))
	idle := breaker.Must(breaker.New(breaker.Config{Name: idleName, Hooks: hooks}))
	t.Cleanup(func() { _, _ = f.busy.Close(), idle.Close() })
	return f
}

// poll fails every other time. Between that it finds an endpoint dead.
func (f *fleet) poll(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	if f.polls.Add(1)%2 == 0 {
		return nil, errStrange
	}
	return map[breaker.Key]breaker.PollResult{{ID: "dying"}: {Failures: 100}}, nil
}

// doEverything calls circuits in every state there is, most of them such that refuse, and gives one up, or takes it back.
func (f *fleet) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	held, dying, given := breaker.Key{ID: "held"}, breaker.Key{ID: "dying"}, breaker.Key{Tenant: "acme", ID: `"given" up`}
	tried := breaker.Key{Tenant: trial, ID: "tried"}
	turn := f.busy.Enable
	if f.turns.Add(1)%2 == 1 {
		turn = f.busy.Disable
	}
	steps := []error{
		f.busy.Refresh(ctx), turn(ctx, given), f.busy.Disable(ctx, breaker.Key{ID: "dead"}), f.busy.ForceOpen(ctx, held), f.busy.Disable(ctx, tried),
	}
	if f.busy.Status(dying).State == breaker.Disabled {
		steps = append(steps, f.busy.Enable(ctx, dying))
	}
	for _, err := range steps {
		if err != nil && ctx.Err() == nil {
			t.Errorf("breaker: got error %v want none", err)
		}
	}
	for _, k := range []breaker.Key{{ID: "well"}, held, held, held, {ID: "dead"}, dying, given, tried} {
		_ = f.busy.CanExecute(ctx, k)
	}
}
