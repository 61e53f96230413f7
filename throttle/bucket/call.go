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

// Of a [store.ManyTaker], batches wait in line while calls are under way. One call then takes many of them.
const (
	freeCalls = 2                // calls that are made for one batch, without waiting for others
	maxMany   = 128              // batches of a call
	lineDelay = time.Millisecond // the longest time that a batch waits for others
	maxLine   = 8192             // batches of a part that wait
	slowPart  = 0.75             // of its timeout, which a slow call takes
	paceStep  = 16               // fast calls, after which there is one more at the same time
)

// call makes the call for a batch that was started. It returns the next batch to call for, if there is one.
func (p *part) call(ctx context.Context, l *Limiter, b *batch) (next *batch) {
	a := store.Answer{Err: errGoexit}
	defer func() {
		next = p.finish(ctx, l, b, a.Decision, a.Err)
		if l.many != nil {
			p.endCall(l)
		}
		if next != nil && errors.Is(a.Err, errGoexit) { // this goroutine cannot make the next call
			go p.callAll(l, next)
		}
	}()
	a = l.askStore(ctx, p, b)[0]
	return nil
}

// errGoexit is the error of a call if the store, a hook or LimitFor has called runtime.Goexit.
var errGoexit = errors.New("the goroutine of the call has ended")

// callAll makes the call for a batch, and then for the batches after it.
func (p *part) callAll(l *Limiter, b *batch) {
	for b != nil {
		b = p.call(context.Background(), l, b)
	}
}

// startTimer starts another call soon, if batches still wait then.
func (p *part) startTimer(l *Limiter) {
	if !p.timed {
		p.timed = true
		time.AfterFunc(lineDelay, func() { p.callMore(l) })
	}
}

// callMore makes another call for the batches that wait.
func (p *part) callMore(l *Limiter) {
	p.mu.Lock()
	p.timed = false
	if len(p.line) == 0 || p.calls >= l.maxCalls() {
		p.mu.Unlock()
		return
	}
	p.calls++
	p.mu.Unlock()
	p.callLine(l)
}

// endCall ends a call, or lets another one follow for the batches that wait.
func (p *part) endCall(l *Limiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) == 0 {
		p.calls--
		return
	}
	go p.callLine(l)
}

// callLine makes calls until no batch waits.
func (p *part) callLine(l *Limiter) {
	for load := p.load(l); len(load) > 0; load = p.load(l) {
		p.callFor(l, load)
	}
}

// callFor makes a call for batches of the line.
func (p *part) callFor(l *Limiter, load []*batch) {
	var answers []store.Answer
	defer func() {
		if answers == nil { // this goroutine has ended, another one goes on
			answers = slices.Repeat([]store.Answer{{Err: errGoexit}}, len(load))
			go p.callLine(l)
		}
		p.deliver(l, load, answers)
	}()
	answers = l.askStore(context.Background(), p, load...)
}

// load returns the batches of the next call. If there are none, or too many calls, it ends the call. Batches wait as long as
// the store answers others. If it does not, they wait for a timeout, and then the policy decides.
func (p *part) load(l *Limiter) (load []*batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard.Silent(l.config.StoreTimeout) {
		p.expire(l, time.Now().Add(-l.config.StoreTimeout))
	}
	n, most := 0, maxMany
	if p.calls > p.maxCalls(l) { // the other calls go on
		most = 0
	}
	for ; n < len(p.line) && len(load) < most; n++ {
		if b := p.line[n]; b.start(l) {
			load = append(load, b)
		} else if b.shared != nil { // all callers have left
			if next := p.release(l, b.Key, b.shared); next != nil {
				go p.callAll(l, next)
			}
		}
	}
	p.line = slices.Delete(p.line, 0, n)
	switch {
	case len(load) == 0:
		p.calls--
	case len(p.line) > 0:
		p.startTimer(l)
	}
	return load
}

// expire ends the batches that have entered the line before a time.
func (p *part) expire(l *Limiter, before time.Time) {
	n := 0
	for ; n < len(p.line) && !p.line[n].since.After(before); n++ {
		p.line[n].start(l)
		go p.giveUp(l, p.line[n], remote.ErrBusy)
	}
	p.line = slices.Delete(p.line, 0, n)
}

// giveUp ends a batch without a call, and makes the calls for the batches after it.
func (p *part) giveUp(l *Limiter, b *batch, err error) {
	p.callAll(l, p.finish(context.Background(), l, b, Decision{}, err))
}

// deliver ends the batches of a call. A batch that the store did not send, because no connection was free,
// is first in the next call, once.
func (p *part) deliver(l *Limiter, load []*batch, answers []store.Answer) {
	var again []*batch
	for i, b := range load {
		if errors.Is(answers[i].Err, store.ErrNotSent) && !b.again {
			b.again = true
			again = append(again, b)
			continue
		}
		if next := p.finish(context.Background(), l, b, answers[i].Decision, answers[i].Err); next != nil {
			go p.callAll(l, next)
		}
	}
	if again != nil {
		p.mu.Lock()
		p.line = append(again, p.line...)
		p.mu.Unlock()
	}
}

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
	if !errors.Is(err, remote.ErrResting) {
		p.paced(l, time.Since(start).Seconds() < slowPart*l.config.StoreTimeout.Seconds() && !errors.Is(err, store.ErrNotSent))
	}
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
