// Package dependency reports failures of dependencies to the server whose request needed them. A
// throttled client reports each call that it sheds, or that the backend rejects. The throttle of
// the server then ignores an answer that repeats the failure: this server has capacity.
package dependency

import "context"

// Key is the context key of the [Server] that handles a request. A server stores itself with
// [context.WithValue], or in a context of its own.
type Key struct{}

// Server is a server's handling of one request.
type Server interface {
	// DependencyFailed records err, the error of a call that was made for the request: the call was
	// shed, rejected or cancelled. If this server runs inside another one, it calls [Report] with
	// the context of that one. It may be called at any time, also after the request has ended, and
	// from several goroutines.
	DependencyFailed(err error)
}

// Report reports to the server around ctx, if there is one, that a dependency failed with err.
func Report(ctx context.Context, err error) {
	if server, ok := ctx.Value(Key{}).(Server); ok {
		server.DependencyFailed(err)
	}
}
