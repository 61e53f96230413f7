package breaker

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
)

// classify returns Accepted for a success, Rejected for a failure and Ignored for neither.
func (m *Manager) classify(ctx context.Context, err error) throttle.Outcome {
	if err == nil {
		return throttle.Accepted
	}
	byDefault := throttle.DefaultClassify(ctx, err)
	if c := m.config.Classify; c != nil && (byDefault != throttle.Rejected || !m.marked(ctx, err)) {
		if o, ok := c(ctx, err); ok && (o < throttle.Shed || o == throttle.Overloaded) {
			return o
		}
	}
	if byDefault == throttle.Ignored {
		return throttle.Ignored
	}
	return throttle.Rejected
}

// besideShedError joins an error with [throttle.ErrShed]. It is pooled, because failures come in
// large numbers.
type besideShedError struct{ err error }

// marked reports whether an error has the mark of [throttle.MarkRejected], which only package
// throttle can see. DefaultClassify ignores every error that wraps ErrShed, except a marked one.
func (m *Manager) marked(ctx context.Context, err error) bool {
	b := m.shedWrappers.Get().(*besideShedError)
	b.err = err
	is := throttle.DefaultClassify(ctx, b) == throttle.Rejected
	b.err = nil
	m.shedWrappers.Put(b)
	return is
}

// Error returns the text of the error.
func (b *besideShedError) Error() string { return b.err.Error() }

// Is reports whether target is [throttle.ErrShed].
func (b *besideShedError) Is(target error) bool { return target == throttle.ErrShed }

// Unwrap returns the error.
func (b *besideShedError) Unwrap() error { return b.err }
