package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// askOne makes a store call for one batch, on the goroutine of its caller.
func (l *Limiter) askOne(ctx context.Context, p *part, b *batch) (Decision, error) {
	start := time.Now()
	d, err := remote.Ask(ctx, p.guard, func(ctx context.Context) (Decision, error) { return l.takeChecked(ctx, b.Request) },
		func(late Decision) { l.returnLate(b.Key, late.Granted) })
	l.called(ctx, start, b.requests, err)
	return d, err
}

// askMany makes a store call for several batches. It runs on a goroutine of the limiter.
func (l *Limiter) askMany(p *part, load []*batch) []store.Answer {
	rs, requests := make([]store.Request, len(load)), 0
	for i, b := range load {
		rs[i] = b.Request
		requests += b.requests
	}
	start := time.Now()
	// The tokens of late answers are lost: to give them back would be as many calls of a slow store.
	answers, err := remote.Ask(context.Background(), p.guard, func(ctx context.Context) ([]store.Answer, error) { return l.takeManyChecked(ctx, rs) }, nil)
	l.called(context.Background(), start, requests, err)
	if err != nil {
		answers = slices.Repeat([]store.Answer{{Err: err}}, len(load))
	}
	return answers
}

// called calls Hooks.StoreCalled after a call. A panic is counted: other callers may wait for the answer.
func (l *Limiter) called(ctx context.Context, start time.Time, requests int, err error) {
	h := l.config.Hooks.StoreCalled
	if h == nil || errors.Is(err, remote.ErrResting) || errors.Is(err, remote.ErrBusy) {
		return
	}
	defer func() {
		if recover() != nil {
			l.panics.Add(1)
		}
	}()
	h(ctx, StoreEvent{Limiter: l, Duration: time.Since(start), Requests: requests, Err: err})
}

// takeChecked calls Store.Take and checks the decision. A denial without RetryAfter would make
// callers retry at once, without end.
func (l *Limiter) takeChecked(ctx context.Context, r store.Request) (Decision, error) {
	d, err := l.config.Store.Take(ctx, r)
	if err == nil {
		err = checkDecision(&d, &r)
	}
	if err != nil {
		d = Decision{}
	}
	return d, err
}

// takeManyChecked calls TakeMany and checks the decisions. It returns an error if the store answered
// no request.
func (l *Limiter) takeManyChecked(ctx context.Context, rs []store.Request) ([]store.Answer, error) {
	answers := l.many.TakeMany(ctx, rs)
	if len(answers) != len(rs) {
		return nil, fmt.Errorf("%d answers to %d requests", len(answers), len(rs))
	}
	answered := false
	for i := range answers {
		a := &answers[i]
		if a.Err == nil {
			a.Err = checkDecision(&a.Decision, &rs[i])
		}
		if a.Err != nil {
			a.Decision = Decision{}
		}
		answered = answered || a.Err == nil
	}
	if !answered {
		return nil, answers[0].Err
	}
	return answers, nil
}

func checkDecision(d *Decision, r *store.Request) error {
	fits := d.Granted >= r.Min && d.Granted <= r.Max
	if !d.Allowed {
		fits = d.Granted == 0 && d.RetryAfter > 0
	}
	if !fits {
		return fmt.Errorf("invalid decision on a request for %d to %d tokens: %+v", r.Min, r.Max, *d)
	}
	return nil
}
