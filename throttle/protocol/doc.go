// Package protocol is for authors of integrations, such as packages grpcthrottle and
// connectthrottle: it has what every protocol needs to throttle its clients and servers. Users of an
// integration do not need it.
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
//   - takes the priority from [Priority], else from [Accept];
//   - counts retries with [Arrivals];
//   - gives the handler a [Served] as its context;
//   - records what [Served.Outcome] returns for the error of the handler.
//
// Both ask the Classify of their user with [OfAnswers].
//
// Clients and servers meet in the context. A client reports each call that is shed or rejected to the
// server whose request needed the call. The throttle of the server then ignores an answer that
// repeats the failure: this server has capacity.
package protocol
