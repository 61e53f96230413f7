package breaker

import "context"

// Do is [Circuit.Do] for a function that returns a value. A call that is not made returns the zero value.
func Do[T any](ctx context.Context, c *Circuit, fn func(context.Context) (T, error)) (value T, err error) {
	ctx, err = c.checkArgs(ctx, fn != nil)
	if err != nil {
		return value, err
	}
	_, generation, err := c.admit(ctx)
	if err != nil {
		return value, err
	}
	value, err = fn(ctx)
	c.record(ctx, generation, err)
	return value, err
}
