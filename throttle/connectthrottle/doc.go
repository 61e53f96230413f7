// Package connectthrottle adds throttles to connect-go clients and handlers, as interceptors for
// unary calls and streams, with the protocols Connect, gRPC and gRPC-Web.
//
// A client sheds calls that its backend has no capacity for, before they are sent:
//
//	client, err := connectthrottle.NewClient(connectthrottle.ClientConfig{
//		Throttle: throttle.Config{Name: "orders"},
//	})
//	...
//	orders := ordersv1connect.NewOrdersClient(httpClient, url, connect.WithInterceptors(client.Interceptor()))
//	...
//	order, err := orders.Find(throttle.WithPriority(ctx, throttle.High), req)
//	if errors.Is(err, throttle.ErrShed) {
//		// nothing was sent
//	}
//
// A server sheds calls that it has no capacity for, before their handlers run. While calls wait for
// a processor, it sheds the least important ones by itself: see Config.ProcessorWait. It also
// learns from the errors of the handlers: the codes Unavailable and ResourceExhausted, the faults
// of these kinds, and an exceeded deadline.
//
//	server, err := connectthrottle.NewServer(connectthrottle.ServerConfig{
//		Throttle: throttle.Config{Name: "shop"},
//	})
//	...
//	mux.Handle(shopv1connect.NewShopHandler(shop, connect.WithInterceptors(server.Interceptor())))
//
// Health checks are served whatever the throttle decides: see ServerConfig.Exempt.
//
// A client has one throttle per host, and a server one per procedure, because procedures often
// depend on different resources. The Key of the config changes that.
//
// Use it in place of httpthrottle, not with it: HTTP does not show how a stream of the Connect
// protocol ended, nor the deadline of a call.
//
// # Outcomes
//
// [FromError] lists what each code means. Config.Classify runs first, and can read the code with
// connect.CodeOf. A server looks at the caller and at the dependencies of the handler too. Package
// protocol says how, and how priorities and load reports travel.
//
// The outcome of a unary call or a stream is recorded when it ends. Streams have two exceptions:
//
//   - A bidi stream is accepted with the first message from the server. It may last for hours.
//   - If the caller cancels a server stream or its deadline passes, the stream is Accepted after the
//     first message. Before it, a cancelled server or bidi stream is Ignored, whatever
//     CanceledAfter is: a stream may be idle for long.
//
// A server cannot see the outcome of a call whose answer cannot be sent. Connect decodes a unary
// request before the interceptor runs, so a request that cannot be decoded is not counted.
//
// # Sheds
//
// A shed call fails with the code Unavailable, a RetryInfo and Retry-After. It also has the trailer
// grpc-retry-pushback-ms: -1, so that the retry policies of gRPC clients do not send the call again
// at once. In the client that sheds, errors.Is(err, [throttle.ErrShed]) holds, and the error has a
// method Temporary that returns false. errors.As finds a *[throttle.ShedError] whose Key is the key
// of the call: the host, by default. Only this Go error names the throttle and its key, not the error that
// connect sends. If Config.ShedErr has a code, the call fails with that error.
//
// # Other interceptors
//
// The first interceptor of connect.WithInterceptors is the outermost. Put interceptors in front
// that must see shed calls, such as logging. Also put those in front that retry, so that every
// attempt passes the throttle, and those that can refuse a call before it is counted, such as
// authentication.
//
// The context of the Started hook reaches the handler, and the http.Client. A stream of a client
// has only the values of that context, because connect makes the stream before the call begins.
package connectthrottle
