package bucket

import "context"

// TokenRequester asks for one token of a bucket that it knows.
type TokenRequester interface {
	// RequestToken returns nil if a token was granted, a *[DeniedError] if not, and another error if nobody could be asked.
	RequestToken(ctx context.Context) error
}

// Requester returns a requester of the bucket of a key.
func (l *Limiter) Requester(key string) TokenRequester { return requester{l, key} }

type requester struct {
	limiter *Limiter
	key     string
}

// RequestToken implements [TokenRequester].
func (r requester) RequestToken(ctx context.Context) error {
	return r.limiter.Take(ctx, r.key, 1)
}

// Guard returns f behind a bucket: it runs if a token is granted, with the context of whoever calls.
func Guard[T any](r TokenRequester, f func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		if err := r.RequestToken(ctx); err != nil {
			var none T
			return none, err
		}
		return f(ctx)
	}
}
