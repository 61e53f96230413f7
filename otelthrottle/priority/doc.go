// Package priority carries the priority of a call from process to process, in the W3C baggage
// member throttle.priority.
//
// Only the process that serves the user can decide how important a request is. The backend that
// runs out of capacity may be two calls away. So the priority travels with the call, next to the
// trace:
//
//	browser               frontend                           backend
//	GET /checkout  --->   trusts no sender;         --->     trusts the frontends,
//	                      a checkout is high                 up to important: important
//
// # Receiving
//
// [Middleware] sets the priority of a request by a [throttle.Trust], and puts it into the request's
// context. Every throttle reads it from there. [Accept] does the same for other transports, after
// the baggage was extracted into the context.
//
//	// Open to the world: every request is medium, until a handler sets another priority.
//	public := priority.Middleware(throttle.Trust{Default: throttle.Medium})
//
//	// Behind the frontends: they name the priority, up to important.
//	private := priority.Middleware(throttle.Trust{Peer: frontend, Ceiling: throttle.Important, Default: throttle.Low})
//
// Do not trust unknown senders: every client can write a baggage header that names the highest
// priority. Trust.Peer must decide by a property that the sender cannot forge, and it gets only the
// context. Put the property there: the listener of the request with the BaseContext of an
// [http.Server], or the identity of a TLS client with a middleware in front.
//
// A priority that was not accepted is not forwarded. The member is removed from the context's
// baggage. It is also removed from the request's header, where a reverse proxy or a second
// extraction would find it. If a trusted sender asked for more than the Ceiling, the member has the
// Ceiling from then on.
//
// Members with an encoded key, such as throttle%2Epriority, are removed too. In Go they are
// different keys, but the propagators for Python and JavaScript decode them. All other members stay
// as they are.
//
// Receivers do not agree on a header that names the priority twice, or that exceeds the limits of
// baggage (64 members, 8192 bytes). Such a request gets the Default priority. No header is ever an
// error to the client.
//
// # Sending
//
// [Inject] puts the context's priority into its baggage. A propagator sends it with an outbound
// call. [NewTransport] sends it with HTTP requests to the hosts that you allow, and removes it from
// all others. Both are explicit, because propagators are not: they send all baggage to every host,
// those of third parties included.
//
// A client that retries, such as one with TransportConfig.Retry of httpthrottle, lowers the priority of
// each retry. Use NewTransport as its base, and call Inject inside of it: else each retry is sent with
// the priority of the first attempt.
//
// # With otelhttp
//
// Put Middleware inside the handler of otelhttp. It then uses the baggage that otelhttp has
// extracted, and costs three allocations. Alone, or if otelhttp has no baggage propagator, it
// extracts the baggage itself, which costs about twelve more for each request with baggage.
//
// Note that otelhttp forwards the baggage of clients to the next hop, also from public endpoints.
// Use Middleware wherever requests of untrusted clients arrive, even if no throttle there reads the
// priority.
//
// NewTransport works on either side of the transport of otelhttp: around it, or as its base.
package priority
