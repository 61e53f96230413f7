// Package hook joins hooks and holds the default hooks of a process.
package hook

import (
	"context"
	"reflect"
	"sync/atomic"
)

// Join1 returns a function that calls first, then second. If one is nil, it returns the other.
func Join1[A any](first, second func(A)) func(A) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A) { first(a); second(a) }
}

// Join2 is [Join1] for functions of two arguments.
func Join2[A, B any](first, second func(A, B)) func(A, B) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}

// JoinContext returns a function that calls first, then second with the context that first
// returned. A nil context from either changes nothing. If one function is nil, it returns the other.
func JoinContext[E any](first, second func(context.Context, E) context.Context) func(context.Context, E) context.Context {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e E) context.Context {
		if next := first(ctx, e); next != nil {
			ctx = next
		}
		if next := second(ctx, e); next != nil {
			ctx = next
		}
		return ctx
	}
}

// JoinReverse returns a function that calls second, then first. First runs even if second panics
// or ends its goroutine. If one is nil, it returns the other.
func JoinReverse[E any](first, second func(context.Context, E)) func(context.Context, E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e E) {
		defer first(ctx, e)
		second(ctx, e)
	}
}

// Default holds the default hooks of one package. Its zero value holds none. All methods are safe
// for concurrent use.
type Default[H any] struct {
	hooks atomic.Pointer[H]
}

// Set replaces the default hooks.
func (d *Default[H]) Set(hooks H) { d.hooks.Store(&hooks) }

// Or returns hooks, or the default hooks if every field of hooks is nil.
func (d *Default[H]) Or(hooks H) H {
	if reflect.ValueOf(hooks).IsZero() {
		return d.Get()
	}
	return hooks
}

// Get returns the default hooks, or the zero H if none were set.
func (d *Default[H]) Get() H {
	if hooks := d.hooks.Load(); hooks != nil {
		return *hooks
	}
	var none H
	return none
}
