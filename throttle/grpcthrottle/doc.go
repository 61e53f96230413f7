// Package grpcthrottle puts throttles into gRPC clients and servers, where their calls are made.
//
// A client sheds what its backend could not serve, before it is sent:
//
//	client, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "orders"}})
//	...
//	conn, err := grpc.NewClient(target, append(client.DialOptions(), otherOptions...)...)
//	...
//	order, err := orders.NewOrdersClient(conn).Find(throttle.WithPriority(ctx, throttle.High), req)
//	if errors.Is(err, throttle.ErrShed) {
//		// it was not even sent
//	}
//
// A server sheds what it could not serve itself, before its handlers begin. That takes handlers which say so: with the code
// Unavailable or ResourceExhausted, a fault of these kinds, or by exceeding the deadline.
//
//	server, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: throttle.Config{Name: "shop"}})
//	...
//	s := grpc.NewServer(server.ServerOptions()...)
//
// There is a throttle for each target that a client calls, and for each method of a server; the Key of the config says otherwise.
// There are no more than Group.Max of them. On a server with a [grpc.UnknownServiceHandler] anybody can make up methods,
// and so push the throttles of others out: let the Key map unknown ones to a single key.
//
// # Outcomes
//
// [FromStatus] says what a code means: Unavailable, ResourceExhausted and DeadlineExceeded are rejections by the backend, Canceled says
// nothing, and all other codes are accepted, as the answers of a backend that works. Config.Classify is asked first, and finds the status
// with status.Code. A server, moreover, ignores errors of handlers whose caller has left.
//
// A unary call has its outcome when it ends. A stream has it with its first message from the server, or with its status if
// there was none before: what happens to a stream later says little about the capacity to begin one. It is in flight until it
// is over. For a client that is when it has received the status, its context is over, or the connection is closed, in other
// words when gRPC itself lets go of it; one that it stops reading without any of these is in flight for good, and
// leaks a goroutine of gRPC's besides. The Finished hook of a stream that ends by its context or connection runs on a goroutine of gRPC's.
//
// # Sheds
//
// What the caller of a shed call gets has the code Unavailable, a RetryInfo in its details, and from servers the trailer
// grpc-retry-pushback-ms: -1, with which gRPC's own retry policies do not send the call again at once. At the client itself
// errors.Is(err, [throttle.ErrShed]) holds, and the error's Temporary method returns false. If Config.ShedErr has a
// status, that is used.
//
// If a handler returns the shed of a client within it, its caller gets the same answer as if the server itself had shed the call. The
// server's own throttle ignores it, since it says nothing of the server. The throttle of the caller counts it as a rejection: for the
// caller it makes no difference how far behind the server capacity ran out.
//
// Retries have their place outside of the throttle: interceptors that retry come before [Client.DialOptions], so
// that every attempt is a call that can be shed. The retry policies of gRPC (service config) work inside; what they attempt is one call
// to the throttle, whose outcome is that of the last attempt. If that ended while it was sending, gRPC tells of an EOF and no status, which is
// a rejection: only what the backend could not serve is attempted again.
//
// # Priorities
//
// The priority of a call is that of its context ([throttle.WithPriority]), else what the func Priority of the config says. On its
// way from process to process it is the metadata [PriorityKey]. Clients send it to those that ClientConfig.Send allows.
// Servers believe those that ServerConfig.Trust does, up to its Ceiling; a word that is unknown, or there twice, is none.
//
//	edge                      frontend                           backend
//	believes nobody;   --->   believes the edge         --->     believes the frontends,
//	a checkout is high                                           up to important: important
//
// Handlers find the priority in their context, so that calls which they make with it have the same. What was not accepted
// does not travel on: it is taken out of the incoming metadata that handlers see, and clients take out what copied metadata says.
//
// # Beside other interceptors, and OpenTelemetry
//
// Interceptors run in the order of the options, the first outermost. Put those in front whose work sheds should spare or count, such as
// logging and authentication (on a server: whatever Trust.Peer needs). With the stats handlers of otelgrpc there is nothing to order. On a
// client they come into play once a call has been admitted, so the span of the throttle (otelthrottle) is the parent of
// otelgrpc's, and a shed call has no span of otelgrpc. On a server they begin before any interceptor, so otelgrpc's is the parent, and
// a shed shows as an event on it.
//
// # Cost
//
// A unary call costs no allocation on the client, and one on the server, for the context with the priority. A stream costs two on
// the client and two on the server. Metadata is copied by a client whose context has outgoing metadata, and where a priority is sent.
package grpcthrottle
