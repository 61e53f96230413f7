package breaker

import "context"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: both(joined.Created, h.Created),
			Closed:  both(joined.Closed, h.Closed),
			Refused: bothOnCall(joined.Refused, h.Refused),
			Changed: both(joined.Changed, h.Changed),
			Led:     both(joined.Led, h.Led),
			Failed:  both(joined.Failed, h.Failed),
		}
	}
	return joined
}

func both[E any](first, second func(E)) func(E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(e E) { first(e); second(e) }
}

func bothOnCall[E any](first, second func(context.Context, E)) func(context.Context, E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e E) { first(ctx, e); second(ctx, e) }
}
