package storetest

import (
	"context"
	"time"
)

// Method is one call of a method of a store.
type Method[S any] struct {
	Name string
	Call func(context.Context, S) error
}

// ContextCases returns the cases of contexts that end before a call, or during it.
func ContextCases[F T](ended func(F, context.Context), during func(F)) []Case[F] {
	return []Case[F]{
		{"canceled before the call", func(f F) { ended(f, canceled(f.Context())) }},
		{"past its deadline", func(f F) {
			ctx, cancel := context.WithDeadline(f.Context(), time.Now().Add(-time.Second))
			cancel()
			ended(f, ctx)
		}},
		{"canceled during the call", during},
	}
}

// canceled returns a context that is canceled.
func canceled(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	cancel()
	return ctx
}

// user is the part of a [Fixture] that counts goroutines.
type user[S any] interface {
	T
	UseLeavesNoGoroutine(use func(S))
	CloseLeavesNoGoroutine(use func(S))
}

// HandleCases returns the cases of handles that are used and closed.
func HandleCases[S any, F user[S]](others, twice func(F), use func(F, S)) []Case[F] {
	return []Case[F]{
		{"Close keeps other handles", others},
		{"Close twice", twice},
		{"calls leave no goroutine", func(f F) { f.UseLeavesNoGoroutine(func(s S) { use(f, s) }) }},
		{"Close leaves no goroutine", func(f F) { f.CloseLeavesNoGoroutine(func(s S) { use(f, s) }) }},
	}
}

// Returns calls a method and returns its error. It stops the case if the method does not return.
func (f *Fixture[S]) Returns(ctx context.Context, s S, m Method[S]) error {
	f.Helper()
	done := make(chan error, 1)
	go func() { done <- m.Call(ctx, s) }()
	select {
	case err := <-done:
		return err
	case <-time.After(Patience):
		f.Fatalf("%s: it has not returned after %v: every method must return when its context ends", m.Name, Patience)
		return nil
	}
}

// RejectsEnded calls a method with a context that has ended, and expects an error.
func (f *Fixture[S]) RejectsEnded(ctx context.Context, m Method[S]) {
	f.Helper()
	if err := f.Returns(ctx, f.Store, m); err == nil {
		f.Errorf("%s with a context that has ended (%v): got no error, want one", m.Name, ctx.Err())
	}
}

// CancelDuring calls call n times. It cancels the context of call number i after i steps.
func (f *Fixture[S]) CancelDuring(n int, step time.Duration, call func(ctx context.Context, i int)) {
	f.Helper()
	begin := time.Now()
	for i := range n {
		if took := time.Since(begin); took > Patience {
			f.Fatalf("%d calls took %v, each canceled within %v: "+
				"a call must end when its context ends, and must not keep a lock", i, took, time.Duration(n)*step)
		}
		ctx, cancel := context.WithCancel(f.Context())
		timer := time.AfterFunc(time.Duration(i)*step, cancel)
		call(ctx, i)
		timer.Stop()
		cancel()
	}
}

// CloseTwice closes a handle twice, and closes a handle that was never used.
func (f *Fixture[S]) CloseTwice(s S) {
	f.Helper()
	f.Must(s.Close(), "Close")
	f.Must(s.Close(), "second Close of the same handle")
	f.Must(f.Handle().Close(), "Close of a handle that was never used")
}

// UseAll calls every method, and once more with a context that has ended.
func (f *Fixture[S]) UseAll(s S, methods []Method[S]) {
	f.Helper()
	ended := canceled(f.Context())
	for _, m := range methods {
		f.Must(f.Returns(f.Context(), s, m), "%s", m.Name)
		_ = f.Returns(ended, s, m) // RejectsEnded checks the error
	}
}
