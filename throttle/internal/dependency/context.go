package dependency

import "context"

// Context is the context of a request that a server handles. It is the [Server] of the request.
type Context struct {
	context.Context

	First
}

// Value returns the value for key.
func (c *Context) Value(key any) any {
	if key == (Key{}) {
		return Server(c)
	}
	return c.Context.Value(key)
}

// DependencyFailed implements [Server].
func (c *Context) DependencyFailed(err error) { c.Add(c.Context, err) }
