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

// askStore makes a store call for one or more batches, and returns an answer to each.
func (l *Limiter) askStore(ctx context.Context, p *part, load ...*batch) []store.Answer {
	rs, requests := make([]store.Request, len(load)), 0
	for i, b := range load {
		rs[i] = b.Request
		requests += b.requests
	}
	late := func(answers []store.Answer) {
		if len(load) == 1 { // to give back the tokens of many would be as many calls of a slow store
			l.giveBack(context.Background(), rs[0].Key, answers[0].Decision.Granted, true)
		}
	}
	start := time.Now()
	answers, err := remote.Ask(ctx, p.guard, func(ctx context.Context) ([]store.Answer, error) { return l.takeChecked(ctx, rs) }, late)
	l.called(ctx, start, requests, err)
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

// takeChecked calls Take or TakeMany, and checks the decisions. It returns an error if the store answered no
// request.
func (l *Limiter) takeChecked(ctx context.Context, rs []store.Request) ([]store.Answer, error) {
	answers := make([]store.Answer, 1)
	if len(rs) == 1 {
		answers[0].Decision, answers[0].Err = l.config.Store.Take(ctx, rs[0])
	} else if answers = l.many.TakeMany(ctx, rs); len(answers) != len(rs) {
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

// checkDecision returns an error for an invalid decision. A denial without RetryAfter would make callers retry at
// once, without end.
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
