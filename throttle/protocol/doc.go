// Package protocol has what the clients and servers of all protocols share: packages httpthrottle,
// grpcthrottle and connectthrottle do what the next sections say. Its functions are for authors of more
// integrations: see the last section.
//
// # Priorities
//
// The priority of a call comes from its context ([throttle.WithPriority]), else from the Priority
// function of the config. Between processes it travels as a word in a header or in metadata. Clients
// send it where their Send allows. Servers accept it from senders that their Trust trusts, up to its
// Ceiling. An unknown or a repeated word is not accepted. Without an accepted word a call is Medium.
//
//	edge                       frontend                  backend
//	trusts no sender;   --->   trusts the edge   --->    trusts the frontends,
//	a checkout is high                                   up to important: important
//
// Handlers find the priority in their context. Calls that they make with it have the same priority.
// A server removes a word that was not accepted, and a client removes one that was copied into a call,
// so that a proxy does not forward it to a server that trusts the proxy.
//
// # Callers that give up
//
// A handler may end after its caller has given up. Two things count more than what it returns:
//
//   - The deadline of the call has passed: Rejected, with the fault timeout. A caller that disconnects
//     shortly before it counts as late too, because it started to wait before the call arrived. Shortly
//     is a quarter of the time that the call had, at most 25 ms. Over HTTP, a server sees its own
//     deadlines only.
//   - The caller has cancelled the call or disconnected before: Ignored, with the fault canceled.
//     Config.Classify is not called.
//
// If a backend hangs, its callers may give up before any deadline passes. So a cancelled call that has
// lasted for at least Config.CanceledAfter is Rejected. The default of clients and servers is 1 s.
// Callers that cancel earlier mostly have other reasons: another replica answered first, or the user
// typed on. Set a longer time if healthy calls last longer, such as long polls, or a negative one to
// ignore every cancelled call.
//
// # Failed dependencies
//
// A rejection, a passed deadline or a late cancellation is Ignored if a call that the handler made was
// shed, rejected or cancelled. The handler must have made it with its context and a throttled client.
// Then the dependency lacks capacity, and this server does not: otherwise a backend that is down would
// make the server shed calls that do not need it.
//
// If a handler returns the shed of a client inside it, the server answers as if it had shed the call
// itself, and its own throttle ignores that. The throttle of the remote caller counts a rejection, and
// then sheds such calls itself. So the load falls where it starts.
//
// The error of a shed call names its throttle and key, such as the address of a backend. What a server
// sends to a remote caller names neither.
//
// # Health checks
//
// An orchestrator that gets the answer of a shed call from a busy process ends the process, and the others
// get its load. So servers serve health checks whatever their throttles decide: see their Exempt. Use it
// for nothing else: a call that needs much work makes an overload worse.
//
// # Load reports
//
// With its Tell a server says in each answer what it sheds, and a client with a Listen sheds that itself.
// So such calls do not reach the server, the client returns to full traffic about two seconds after an
// overload, and it does not take errors of a calm server for load. By default the clients that Trust
// accepts get a report, and no client listens. See docs/load-reports.md.
//
// # More integrations
//
// A client:
//
//   - makes its [Throttles], and asks [Throttles.Of] for the throttle of a call;
//   - takes the priority from [Priority], and sends its [Word] where its user allows that;
//   - gives the error of the answer its fault, with [FaultOfCode] and [WithFault];
//   - calls [Report] with that error, and with the error of a call that was shed.
//
// A server:
//
//   - gives the words of a call to [Accept], and the result to its [Receiver];
//   - asks the throttle that [Receiver.Receive] returns;
//   - gives the handler a [Served] as its context;
//   - records what [Served.Outcome] returns for the error of the handler;
//   - sends the code of its fault, see [CodeOf], and its [Delay].
//
// Both mark the end of a call that says nothing about capacity with [Ignore]. Clients and servers meet
// in the context: a client reports each call that is shed or rejected to the server whose request needed
// the call.
package protocol
