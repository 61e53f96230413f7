package monitoring

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoffs are the backoffs of an instance. Their delays are so short that nobody notices.
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
			p.Done(o)
		}
	}
}
