package monitoring

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// idleName is a breaker on a shared store without Run: it has never read its store.
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
		Name: hostileName, Hooks: hooks, Poll: f.poll, StoreTimeout: program.Timeout,
		SampleRate: 200 * time.Millisecond, BreakerTimeout: 300 * time.Millisecond, ConsecutiveFailureThreshold: 3,
		ForTenant: func(tenant string, c breaker.Config) breaker.Config {
			if tenant == trial {
				c.Mode = throttle.ModeShadow
			}
			return c
		},
	}))
	// Behind another type, a memory store counts as shared: a manager that is never run does not lead.
	shared := struct{ breakerstore.Store }{breaker.NewMemoryStore()}
	idle := breaker.Must(breaker.New(breaker.Config{Name: idleName, Store: shared, Counter: breaker.NewCounter(time.Minute), Hooks: hooks}))
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

// closedName is a bucket that refuses what its store does not answer.
const closedName = "partner (fails closed)"

// limits are the token buckets of an instance. They have next to no tokens, so most of what is granted is granted without a store.
type limits struct {
	open, closed *bucket.Limiter
	share        *bucket.Limiter
	local        *bucket.Limiter // in memory
}

func newLimits(t testing.TB, hooks bucket.Hooks) *limits {
	t.Helper()
	named := func(name string, store store.Store, policy bucket.FailurePolicy) *bucket.Limiter {
		l := bucket.Must(bucket.New(bucket.Config{
			Name: name, Store: store, OnFailure: policy, Hooks: hooks, StoreTimeout: time.Second,
			Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour},
		}))
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	return &limits{
		open:   named(hostileName, &flaky{Store: bucket.NewMemoryStore()}, bucket.FailOpen),
		closed: named(closedName, &flaky{Store: bucket.NewMemoryStore()}, bucket.FailClosed),
		share:  named("share", &flaky{Store: bucket.NewMemoryStore()}, bucket.LocalShare),
		local:  named(dottedName, nil, bucket.FailOpen),
	}
}

// doEverything asks for tokens one by one and by twos. The latter ask alone, and so know whose trace they are of.
func (s *limits) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	for _, l := range []*bucket.Limiter{s.open, s.closed, s.share, s.local} {
		for range 3 {
			_, _ = l.Decide(ctx, `a "key"`)
			_, _ = l.DecideN(ctx, `a "key"`, 2)
		}
	}
}

type flaky struct {
	store.Store
	asked atomic.Int64
}

func (s *flaky) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	ways := []error{faults.Unavailable(0), fmt.Errorf("no table: %w", errStrange), context.DeadlineExceeded, context.Canceled}
	if n := int(s.asked.Add(1)); n%3 == 0 {
		return bucket.Decision{}, ways[n/3%len(ways)]
	}
	return s.Store.Take(ctx, r)
}

// backoffs are the backoffs of an instance. Their delays are too short to matter.
type backoffs struct {
	refused *backoff.Responsive // each sleeps, and most is throttled
	served  *backoff.Responsive // all keep a pace, and most is served
}

func newBackoffs(t testing.TB, hooks backoff.Hooks) *backoffs {
	t.Helper()
	named := func(name string, mode backoff.Mode) *backoff.Responsive {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: name, Mode: mode, InitialInterval: time.Microsecond, MaxInterval: time.Millisecond, DownMultiplierThreshold: 1, Hooks: hooks,
		}))
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	return &backoffs{refused: named(hostileName, backoff.Sleep), served: named(dottedName, backoff.Pace)}
}

// doEverything makes calls that end in every way there is.
func (b *backoffs) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	for r, outcomes := range map[*backoff.Responsive][]backoff.Outcome{
		b.refused: {backoff.Throttled, backoff.ThrottledFor(time.Millisecond), backoff.Throttled, backoff.Success, backoff.Ignored},
		b.served:  {backoff.Success, backoff.Success, backoff.Throttled, backoff.Success, backoff.Success},
	} {
		for _, o := range outcomes {
			p, err := r.Wait(ctx)
			if err != nil {
				return // the test ends
			}
			p.Finish(o)
		}
	}
}
