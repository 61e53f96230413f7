// Package grpcthrottle adds throttles to gRPC clients and servers, as interceptors for unary calls
// and streams.
//
// A client sheds calls that its backend has no capacity for, before they are sent:
//
//	client, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{
//		Throttle: throttle.Config{Name: "orders"},
//	})
//	...
//	conn, err := grpc.NewClient(target, append(client.DialOptions(), otherOptions...)...)
//	...
//	order, err := orders.NewOrdersClient(conn).Find(throttle.WithPriority(ctx, throttle.High), req)
//	if errors.Is(err, throttle.ErrShed) {
//		// nothing was sent
//	}
//
// A server sheds calls that it has no capacity for, before their handlers run. While calls wait for
// a processor, it sheds the least important ones by itself: see Config.ProcessorWait. It also
// learns from the errors of the handlers: the codes Unavailable and ResourceExhausted, and the
// faults of these kinds. And it learns from calls that end after the deadline of their caller.
//
//	server, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
//		Throttle: throttle.Config{Name: "shop"},
//	})
//	...
//	s := grpc.NewServer(server.ServerOptions()...)
//
// Health checks are served whatever the throttle decides: see ServerConfig.Exempt.
//
// A client has one throttle per target, and a server one per method, because methods often depend on
// different resources. The Key of the config changes that. Group.Max bounds the number of throttles. On a
// server with a [grpc.UnknownServiceHandler] any caller can invent methods, and thereby evict the throttles
// of others. Let the Key map unknown methods to one key.
//
// # Outcomes
//
// [FromStatus] lists what each code means. Config.Classify runs first, and can read the code with
// status.Code. A server looks at the caller and at the dependencies of the handler too. Package protocol says
// how, and how priorities and load reports travel.
//
// The outcome of a unary call is recorded when it ends. The outcome of a stream is recorded with the first
// message from the server, or with the status if there is none before. Later events of a stream show little
// about the capacity to start one. It is in flight until it ends: see [Client.StreamInterceptor]. If it ends
// by its context or its connection, the Finished hook runs on a goroutine of gRPC.
//
// # Calls that are cancelled late
//
// A cancelled call that has lasted for at least Config.CanceledAfter is Rejected: see package protocol. A
// call that the backend itself answers with Canceled, while the caller waits, is always Ignored.
//
// A stream may be silent for long, and its client usually ends it by a cancellation. So a stream
// counts only if its client had sent everything and waited for the first sign of the server:
//
//   - It is ignored if the client still sent: an upload, or a stream both ways that the client has
//     not closed with CloseSend. On a server, that is until RecvMsg returns io.EOF.
//   - It is ignored after the header. On a client, that is after its method Header returned one.
//   - It is Accepted after the first message, as every stream.
//
// A stream of rare events, such as a subscription, should therefore begin with a header: the
// handler calls SendHeader at once, and the client calls Header.
//
// # Sheds
//
// A shed call fails with the code Unavailable and a RetryInfo. A server also sends the trailer
// grpc-retry-pushback-ms: -1, so that the retry policies of gRPC do not send the call again at
// once. In the client that sheds, errors.Is(err, [throttle.ErrShed]) holds, and the error has a
// method Temporary that returns false. errors.As finds a *[throttle.ShedError] whose Key is the key
// of the call: the target, by default. Only the Go error names the throttle and its key: a server may send
// the status to a remote caller. If Config.ShedErr has a status, the call fails with that status.
//
// # Retries
//
// With ClientConfig.Retry the client sends a unary call again that the target had no capacity for,
// if ClientConfig.Repeatable allows it:
//
//	client, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{
//		Throttle:   throttle.Config{Name: "orders"},
//		Retry:      &retry.Config{},
//		Repeatable: func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method == "/shop.Orders/Find" },
//	})
//
// Package retry says which calls are retried, and how many. Each key has its own budget. Every attempt passes
// the throttle, a retry one priority lower. RetryInfo and the trailer grpc-retry-pushback-ms are obeyed. The
// caller gets the error of the last attempt. Streams are not retried. A retry has the number of earlier
// attempts in the metadata [AttemptsKey], as the retries of gRPC have. A [Server] counts these calls, and can
// lower their priority.
//
// Chain other interceptors that retry before those of [Client.DialOptions], so that every attempt
// passes the throttle, and do not set Retry. The retry policies of gRPC (service config) run inside:
// all attempts are one call to the throttle, with the outcome of the last. If that attempt ended
// while it was sending, gRPC returns EOF without a status. This counts as a rejection, because gRPC
// retries only calls that the backend could not serve.
//
// # Other interceptors, and OpenTelemetry
//
// Interceptors run in the order of the options, the first outermost. Put interceptors in front that
// must see shed calls, such as logging. Also put those in front that can refuse a call before it is
// counted, such as authentication. On a server, that includes all that Trust.Peer needs.
//
// The stats handlers of otelgrpc need no order. On a client they run after a call was admitted. The
// span of the throttle (otelthrottle) is the parent of otelgrpc's, and a shed call has no span of
// otelgrpc. On a server they run before any interceptor. The span of otelgrpc is the parent, and a
// shed is an event on it.
//
// # Cost
//
// A unary call costs one allocation on the client, for the trailer, and two on the server, for its
// contexts. A stream costs two on each side. A client also copies metadata if the context has
// outgoing metadata, or if a priority is sent. Config.CanceledAfter costs one reading of the clock,
// and a deadline costs a server two.
package grpcthrottle
