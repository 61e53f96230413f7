// Package priority carries the priority of a call from process to process, in the W3C baggage member throttle.priority.
//
// The process that meets the user knows best how much a request matters, while the backend that runs out of capacity is
// two calls away. So the word travels along, next to the trace:
//
//	browser               frontend                           backend
//	GET /checkout  --->   believes nobody;          --->     believes the frontends,
//	                      a checkout is high                 up to important: important
//
// # Receiving
//
// [Middleware] decides what the priority of a request is, by a [throttle.Trust], and puts it into the request's context,
// where every throttle finds it. [Accept] does the same for other transports, once the baggage is in the context.
//
//	// Open to the world: whatever a request says about itself, it is medium until a handler knows better.
//	public := priority.Middleware(throttle.Trust{})
//
//	// Behind the frontends: what they say counts, up to important.
//	private := priority.Middleware(throttle.Trust{Peer: frontend, Ceiling: throttle.Important, Default: throttle.Low})
//
// Strangers are not believed, because whoever may name his own priority names the highest, and anyone can write a
// baggage header. Trust.Peer has to judge by what the sender cannot make up, and it sees nothing but the context. Put there
// what it needs: with the BaseContext of an [http.Server] the listener that the request came in by, or with a middleware
// in front what its TLS connection proved.
//
// What was not accepted does not travel on. The member is taken out of the context's baggage, and out of the request's
// header, where a reverse proxy or a second extraction would find it. If a trusted peer asked for more than the ceiling,
// the member says from then on what it got. Members whose key is ours in disguise, such as throttle%2Epriority, go
// as well: for Go they are someone else's, but the propagators for Python and JavaScript decode them, and a backend behind
// those would believe what comes out. All other members stay as they are.
//
// A request whose header names the priority twice, or is beyond the limits of baggage (64 members, 8192 bytes), has the
// Default priority, since receivers do not agree on what it says. Nothing in a header is ever an error to the client.
//
// # Sending
//
// [Inject] puts the context's priority into its baggage, from where a propagator takes it into an outbound call.
// [NewTransport] sends it with HTTP requests to the hosts that you allow, and keeps it from all others. Both are explicit,
// because propagators are not: they send all baggage to whomever a request goes to, third parties included.
//
// # Beside otelhttp
//
// Put Middleware inside the handler of otelhttp. It then uses the baggage that otelhttp has extracted, and costs three
// allocations. Alone, or if otelhttp has no baggage propagator, it extracts the baggage itself, for another dozen with
// each request that has some. Note that otelhttp relays a client's baggage to the next hop, from public endpoints
// too: a Middleware belongs wherever strangers' requests come in, even if nothing there looks at the priority.
//
// NewTransport works on either side of the transport of otelhttp. Around it or as its base, it has the last word.
package priority
