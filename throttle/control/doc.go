// Package control changes the settings of throttles, circuit breakers, token buckets, backoffs and
// retriers while they run: from a file, over HTTP, or by code such as a client of feature flags. Nothing has
// to be released to switch a throttle off, or to move a fleet from Shadow to Enforce.
//
//	ctl, err := control.New(control.Config{Hooks: control.LogHooks(logger)})
//	...
//	ctl.AddDefaultHooks()                             // after SetDefaultHooks, before throttles are made
//	...
//	err = ctl.Watch(ctx, "/etc/spillway/control.json") // after they are made
//
// The file has a line for each name whose settings differ from those of the code:
//
//	{
//	  "throttles": {
//	    "stock": {"mode": "off", "until": "2026-11-23T18:00:00Z", "by": "ana", "reason": "INC-7"}
//	  }
//	}
//
// To roll back, delete the line: the setting is that of the code again. A line with until ends by
// itself. The document is valid as a whole or not applied at all: see [ParseDocument] and
// [Control.Watch].
//
// The format is JSON, not YAML. The standard library has it, and a document that is cut off is
// never valid JSON, because the last brace is missing. In YAML it often is. A ConfigMap can hold a
// JSON file.
//
// One document may be for a fleet: see [Service], [Control.WatchFunc] and [ReadURL].
//
// # Sources
//
// A setting may be set by the code, by [Control.Apply], by the file and over HTTP. If several set it,
// HTTP wins over the file, the file over Apply, and Apply over the code. So an operator has the last
// word. [Control.Status] returns
// where each value comes from. What was set by Apply or over HTTP is lost when the process ends.
//
// # Names
//
// A name stands for all throttles of that name. A document that has a name which this process has
// never had is wrong: it may be a typing error. The clients for HTTP, and
// the clients and servers for gRPC and Connect, announce the names of throttles that they make with
// the first call. For a Group of your own, as that of an HTTP server, call throttle.Config.Announce.
// Mark a line as optional if the file is shared by services that have different throttles.
//
// # Seeing it
//
// Each change calls [Hooks].Tuned with old and new values, source, operator, reason and end.
// [LogHooks] logs it, and otelthrottle counts it. sources.Control of package statusz/sources shows
// what is in force on the status page.
//
// # Cost
//
// A call costs the same with a Control as without. The hooks of throttles run only when one is made
// or closed. Watch has one goroutine, which reads the file each second.
package control
