package bucket

import (
	"context"
	"errors"
	"time"
)

// Wait takes n tokens as soon as they are there and those who have waited longer have theirs. It returns a *[DeniedError] if ctx has a deadline
// before which they cannot be there, as soon as that is known, and the error of ctx if that ends. While the store gives no answer and
// [LocalShare] decides it is known a second before at most, because the store may be back. Tokens that are granted when ctx ends
// are given back. Those who ask without waiting do not stand in the line: if they always take what has come back, who waits for several
// tokens waits for ever.
func (l *Limiter) Wait(ctx context.Context, key string, n int64) error {
	ctx, err := l.sound(ctx)
	if err != nil {
		return err
	}
	limit := l.limitOf(key)
	if err := acceptable(limit, n); err != nil || n == 0 {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.closed:
		return ErrClosed
	default:
	}
	if l.memory != nil && l.lines.nobody(key) {
		var d Decision
		if l.memory.take(key, limit, n, n, &d); d.Allowed {
			l.count(granted, n)
			return nil
		}
	}
	begun := time.Now()
	l.waiting.Add(1)
	defer l.waiting.Add(-1) // after it was counted: whoever sees nobody wait sees what became of all
	s := l.stand(ctx, key, limit, n)
	l.noteWait(ctx, key, n, time.Since(begun), s)
	if p := (*limitPanicError)(nil); errors.As(s.err, &p) {
		panic(p.value)
	}
	return s.err
}

// stand stands in line.
func (l *Limiter) stand(ctx context.Context, key string, limit *Limit, n int64) service {
	w := &waiter{n: n, served: make(chan service, 1)}
	w.deadline, w.hurried = ctx.Deadline()
	l.queueUp(key, limit, w)
	select {
	case s := <-w.served:
		return s
	case <-ctx.Done():
		l.leave(key, w)
		return service{err: ctx.Err()}
	case <-l.closed:
		l.leave(key, w)
		return service{err: ErrClosed}
	}
}

// leave takes somebody out of the line. What was granted to him at that moment is given back.
func (l *Limiter) leave(key string, w *waiter) {
	l.lines.leave(key, w)
	select {
	case s := <-w.served:
		if s.err == nil && s.source == SourceStore {
			l.giveBack(context.Background(), key, w.n)
		}
	default:
	}
}

// noteWait counts a wait, and tells of it.
func (l *Limiter) noteWait(ctx context.Context, key string, n int64, waited time.Duration, s service) {
	d := Decision{Allowed: s.err == nil, Source: s.source}
	if d.Allowed {
		d.Granted = n
	}
	if denied := (*DeniedError)(nil); errors.As(s.err, &denied) {
		d.RetryAfter = denied.RetryAfter
		l.note(ctx, key, n, &d, nil)
	} else {
		l.note(ctx, key, n, &d, s.err)
	}
	if h := l.config.Hooks.Waited; h != nil {
		h(ctx, WaitEvent{Limiter: l, Key: key, Tokens: n, Duration: waited, Err: s.err})
	}
}
