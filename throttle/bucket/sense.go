package bucket

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// askStore asks the store. An answer that makes no sense is none: who is denied, but not for how long, would ask again at once, for ever.
func (l *Limiter) askStore(ctx context.Context, r store.Request) (Decision, error) {
	d, err := l.config.Store.Take(ctx, r)
	if err == nil && !answers(&d, r.Min, r.Max) {
		return Decision{}, fmt.Errorf("an answer that makes no sense to a request for %d to %d tokens: %+v", r.Min, r.Max, d)
	}
	return d, err
}

// answers reports whether a decision can be one about so many tokens.
func answers(d *Decision, atLeast, atMost int64) bool {
	if !d.Allowed {
		return d.Granted == 0 && d.RetryAfter > 0
	}
	return d.Granted >= atLeast && d.Granted <= atMost
}
