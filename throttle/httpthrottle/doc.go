// Package httpthrottle adds throttles to net/http clients and servers.
//
// # Client
//
// [NewTransport] wraps an [http.RoundTripper]. Each host gets its own throttle on its first
// request:
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
// errors.As finds a *[throttle.ShedError] in the error of a shed request. Its Key is the host.
//
// The throttle records the outcome when the header of the response arrives. [StatusError] lists the
// statuses that count as rejections. The request stays in flight until its body is read to the end
// or closed. A body that is never closed stays in flight in [throttle.Stats]. A request without a
// response is
//
//   - Rejected if it timed out, or if its connection was refused or broke: the server may be full, or
//     down,
//   - Ignored if the caller canceled it, or Rejected if it had waited for at least CanceledAfter of
//     the Config, 1 s by default,
//   - Ignored if the request itself was at fault: it was invalid, or its body could not be read.
//
// A call of gRPC or gRPC-Web whose code is not in the header is recorded with the first byte of the body, or
// with the trailer if the body is empty; in the middleware too. The code of a stream of the Connect protocol
// is in the body, and so is that of gRPC-Web if the server has set a header of its own or sent a message. Only
// package connectthrottle finds it there; here such a call is Accepted. That package and grpcthrottle also see
// the deadline of a call.
//
// The transport leaves response, body, trailers, errors and connections as they are, with HTTP/2 and upgraded
// connections too. It costs one allocation per request, for the body.
//
// # Server
//
// [Middleware] wraps an [http.Handler]: a mux, or the handler of one route.
//
//	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
//	http.ListenAndServe(address, serve(mux))
//
// While requests wait for a processor, or in a queue inside the handler, such as that of a full pool of
// connections, the middleware sheds the least important ones by itself: see Config.ProcessorWait and
// Config.Slow. The throttle also learns from the statuses that the handler answers. Health checks are served
// whatever the throttle decides: see MiddlewareConfig.Exempt.
//
// # Client, server, or both
//
// Throttle in the client if you can: shedding there costs the server nothing. Throttle in each server of
// yours too. docs/where-to-put-throttles.md says when, and by which key. A Middleware has one throttle for
// all requests by default, because it usually runs before the mux has matched a route. Package protocol says
// how priorities and load reports travel.
//
// # Nested throttles
//
// If a handler's own call is shed, [WriteError] answers 503 with Retry-After. [ErrorHandler] does the same
// for httputil.ReverseProxy, whose own ErrorHandler answers 502 to every error. [Forward] copies the
// response of a backend.
//
// An answer that repeats the failure of a dependency is Ignored, see package protocol. That is so if
//
//   - the handler answers with WriteError, ErrorHandler or Forward, or
//   - it answers 429, 502, 503 or 504 in another way, and a call that it made with the context of
//     the request was shed or rejected. A [Transport] reports such calls to the middleware.
//
// If the request itself was at fault, a 502 is Accepted: the request was invalid, or the client
// broke off its upload. The Transport reports that too.
//
// A handler that refuses a request for a reason other than capacity, such as a limit per caller, must report
// that with Tell, or the requests of other callers are shed: see [Middleware].
//
// A middleware around h2c.NewHandler sees one request per connection. Put it inside:
// h2c.NewHandler(serve(mux), server).
//
// # Retries
//
// With TransportConfig.Retry the transport sends a request again that the host had no capacity for:
//
//	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
//		Throttle: throttle.Config{Name: "backends"},
//		Retry:    &retry.Config{},
//	})
//
// Package retry says which calls are retried, and how many; TransportConfig.Repeatable says which requests.
// Each host has its own budget. Retry-After is obeyed. The caller gets the response or the error of the last
// attempt, and its deadline is for all attempts together. A retry has its number in the [AttemptHeader], which
// a [Middleware] counts and can give a lower priority.
//
// If another library retries, put it around the transport, so that every attempt passes the
// throttle, and do not set Retry. Do not let it retry if errors.Is(err, [throttle.ErrShed]). A
// retrying round tripper as the base of the transport hides the failed attempts from the throttle,
// which then sheds too little.
//
// # OpenTelemetry
//
// In a client, make otelhttp.NewTransport(base) the base of the transport. Only sent requests then
// have a client span, and it is a child of the throttle's span. In a server, put
// otelhttp.NewHandler around the middleware. A shed request then has a server span, as any other
// answer.
//
// # Switching it off
//
// [throttle.Group.Tune] changes the mode of all throttles of a transport at run time: to ModeOff or
// ModeShadow, for example. [throttle.Throttle.Tune] changes one of them.
package httpthrottle
