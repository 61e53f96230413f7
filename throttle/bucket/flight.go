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

// A flight is a call to a [store.ManyTaker] with one or more questions. While flights are under way,
// further questions wait and share the next flight.
const (
	freeFlights = 2                // flights that start with one question, without waiting for others
	maxFlight   = 128              // questions of a flight
	flightDelay = time.Millisecond // the longest time that a question waits for others
	maxWaiting  = 8192             // questions of a part that wait for a flight
)

// question is a request that waits for a flight. part.mu guards it.
type question struct {
	*storeRequest

	sent   bool          // a flight has it
	again  bool          // a flight had it, and the store did not send it
	left   bool          // the caller has gone
	ended  bool          // as done
	done   chan struct{} // closed when there is an answer
	answer store.Answer
}

// board starts a flight for a question, or adds the question to those that wait for one. The
// question is nil if the caller must make the flight.
func (p *part) board(l *Limiter, q *storeRequest) (*question, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.flights < min(freeFlights, l.maxFlights()):
		p.flights++
		return nil, nil
	case len(p.waiting) >= maxWaiting:
		return nil, remote.ErrBusy
	}
	w := &question{storeRequest: q, done: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.startTimer(l)
	return w, nil
}

// maxFlights returns the number of flights that may be under way at the same time.
func (l *Limiter) maxFlights() int {
	if b, ok := l.config.Store.(store.Bounded); ok {
		return min(l.config.MaxCalls, max(1, b.MaxCalls()))
	}
	return l.config.MaxCalls
}

// startTimer starts another flight soon if questions still wait then.
func (p *part) startTimer(l *Limiter) {
	if !p.timed {
		p.timed = true
		time.AfterFunc(flightDelay, func() { p.takeOff(l) })
	}
}

// takeOff starts another flight.
func (p *part) takeOff(l *Limiter) {
	p.mu.Lock()
	p.timed = false
	if len(p.waiting) == 0 || p.flights >= l.maxFlights() {
		p.mu.Unlock()
		return
	}
	p.flights++
	p.mu.Unlock()
	p.fly(l)
}

// land ends a flight, or makes it go on with the questions that wait.
func (p *part) land(l *Limiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.flights--
		return
	}
	go p.fly(l)
}

// fly makes flights until no question waits.
func (p *part) fly(l *Limiter) {
	for {
		load := p.load(l)
		if len(load) == 0 {
			return
		}
		p.deliver(l, load, l.askMany(p, load))
	}
}

// load returns the questions of the next flight. If there are none, it ends the flight.
func (p *part) load(l *Limiter) []*question {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.waiting), maxFlight)
	load := slices.Clone(p.waiting[:n])
	for _, w := range load {
		w.sent = true
	}
	p.waiting = slices.Delete(p.waiting, 0, n)
	switch {
	case n == 0:
		p.flights--
	case len(p.waiting) > 0:
		p.startTimer(l)
	}
	return load
}

// deliver wakes the callers of a flight. It gives back the tokens of those who have gone. A question that
// the store did not send, because no connection was free, is first in the next flight, once.
func (p *part) deliver(l *Limiter, load []*question, answers []store.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var again []*question
	for i, w := range load {
		if errors.Is(answers[i].Err, store.ErrNotSent) && !w.again && !w.left {
			w.sent, w.again = false, true
			again = append(again, w)
			continue
		}
		w.answer, w.ended = answers[i], true
		close(w.done)
		if w.left && w.answer.Err == nil && w.answer.Decision.Granted > 0 {
			go l.returnLate(w.Key, w.answer.Decision.Granted)
		}
	}
	p.waiting = append(again, p.waiting...)
}

// wait waits for the answer to a question, at most until shortly before the deadline of ctx.
func (p *part) wait(ctx context.Context, l *Limiter, w *question) (Decision, error) {
	patience, begun := remote.Patience(ctx), time.Now()
	for {
		left := patience - time.Since(begun)
		err := await(ctx, w.done, min(l.config.StoreTimeout, left))
		switch {
		case err == nil:
		case errors.Is(err, remote.ErrNoAnswer) && left > l.config.StoreTimeout && p.moves(l, w):
			continue
		case p.withdraw(w):
			return Decision{}, remote.ErrBusy
		case p.leave(w):
			return Decision{}, err
		}
		return w.answer.Decision, w.answer.Err
	}
}

// moves reports whether a question should wait longer: it was sent, and a flight ends at its own timeout,
// or the store still answers others, so that its turn will come.
func (p *part) moves(l *Limiter, w *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.sent || !p.guard.Silent(l.config.StoreTimeout)
}

// await waits until done is closed. It returns an error if it is not after this time, or ctx ends.
func await(ctx context.Context, done <-chan struct{}, length time.Duration) error {
	w := remote.NewWait(length)
	defer w.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.C:
			if w.Over(ctx) {
				return remote.ErrNoAnswer
			}
		}
	}
}

// withdraw removes a question that waits for a flight. It returns false if it was sent.
func (p *part) withdraw(w *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.sent {
		i := slices.Index(p.waiting, w)
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	return !w.sent
}

// leave gives up a question that was sent. It returns false if there is an answer.
func (p *part) leave(w *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.left = !w.ended
	return w.left
}

// askMany makes a store call for the questions of a flight. It runs on a goroutine of the limiter.
func (l *Limiter) askMany(p *part, load []*question) []store.Answer {
	rs, requests := make([]store.Request, len(load)), 0
	for i, w := range load {
		rs[i] = w.Request
		requests += w.requests
	}
	start := time.Now()
	// The tokens of late answers are lost: to give them back would be as many calls of a slow store.
	answers, err := remote.Ask(context.Background(), p.guard, func(ctx context.Context) ([]store.Answer, error) { return l.takeManyChecked(ctx, rs) }, nil)
	if h := l.config.Hooks.StoreCalled; h != nil && wasCalled(err) {
		l.callHook(context.Background(), StoreEvent{Limiter: l, Duration: time.Since(start), Requests: requests, Err: err})
	}
	if err != nil {
		answers = slices.Repeat([]store.Answer{{Err: err}}, len(load))
	}
	return answers
}

// takeManyChecked calls TakeMany and checks the decisions. It returns an error if the store answered
// no question.
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
