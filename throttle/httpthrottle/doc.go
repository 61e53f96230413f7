// Package httpthrottle puts throttles where HTTP calls are made and where they are served.
//
// # Client
//
// [NewTransport] wraps an [http.RoundTripper]. Each host has a throttle of its own, made when it is first called:
//
//	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
//		Throttle: throttle.Config{Name: "backends"},
//	})
//	...
//	client := &http.Client{Transport: transport}
//	response, err := client.Do(request)
//	if errors.Is(err, throttle.ErrShed) {
//		// nothing was sent
//	}
//
// The throttle is told what the server says when the response's header arrives: [StatusError] knows which statuses are rejections. The
// request is in flight until its body has been read to the end or closed, so a body that somebody forgets to close can be
// seen in [throttle.Stats]. Of requests without a response,
//
//   - a timeout and a broken or refused connection are Rejected,
//   - one that the caller cancels is Ignored,
//   - and so is one that was at fault itself: it could not be sent, or its body could not be read.
//
// Request, response, body, trailers, errors and connections are as without the transport, HTTP/2 and upgraded connections
// included. It costs one allocation, for the body.
//
// # Server
//
// [Middleware] wraps an [http.Handler], in front of a mux or around one route:
//
//	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
//	http.ListenAndServe(address, serve(mux))
//
// A request that is shed gets 503 Service Unavailable with a Retry-After. What the throttle learns is what the handler says: let
// it answer 503 or 504 when the server is short of something, a database connection, a place in a queue, and the middleware
// keeps the least important requests away from it.
//
// # Client, server, or both
//
// Throttle in the client if you can: what it sheds costs nobody anything, and it needs no cooperation. Throttle in the server if
// its clients are many or not yours, because a client that sends little learns little. With both, the server sheds for all, and its
// clients learn from that and stay away. One throttle should watch what runs out of capacity as one: hosts by default, routes if
// they depend on different things (Key and MiddlewareConfig.Group), tenants if each has its share.
//
// # Priorities
//
// A priority comes from the request's context ([throttle.WithPriority]) or a function. TransportConfig.Send lets it travel to the next
// server in the [PriorityHeader], and MiddlewareConfig.Peer says whose header is believed there, up to a Ceiling. The middleware puts
// what it decided into the context, so that the requests made on behalf of this one are as important. A word that is not
// believed is taken out of the header, lest a reverse proxy forwards it to somebody who believes the proxy.
//
// # Nested throttles
//
// If a handler's own call is shed, [WriteError] turns that into 503 with a Retry-After. The throttle around the handler ignores it,
// since this server was not short of anything. The caller's throttle counts it as a rejection, as any 503: from there the server
// cannot serve such requests, whoever is the cause. It sheds in turn, so the load is taken away where it begins.
// In a reverse proxy it is the ErrorHandler that calls WriteError: the one of httputil answers 502, which blames the proxy for its backends.
//
// A request that a Transport could not send, because a stranger had made it so or broke off its upload, is held neither against the
// backend nor against the server: a reverse proxy between the two answers 502, and its middleware knows why.
//
// A handler that refuses a request for a reason of its own, such as a limit for each caller, tells the middleware so, or one greedy caller
// would have the others shed: see [Middleware].
//
// # Retries
//
// A shed request must not be retried at once: its error has a method Temporary that returns false, and a response has Retry-After. Put a
// retrying round tripper around the transport, so that every attempt passes the throttle, give it a budget, such as one
// retry for ten requests, and let it leave errors alone for which errors.Is(err, [throttle.ErrShed]) holds. See the example. Below
// the transport it works too, but what it keeps from the throttle cannot protect the backend.
//
// # Beside OpenTelemetry
//
// With otelhttp on the client, make it the base: otelhttp.NewTransport(base) inside, so that a span is of a request that was sent, and lies in
// the throttle's own. On the server put otelhttp.NewHandler around the middleware: then a shed is an answer with a span like any other.
//
// # Switching it off
//
// [throttle.Group.Tune] switches all throttles of a transport off, or to Shadow, while it runs, and [throttle.Throttle.Tune] one of them.
package httpthrottle
