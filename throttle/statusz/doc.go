// Package statusz is a live page of every throttle in the process: what a team opens when something sheds. It needs nothing but
// a browser, no telemetry and no network beyond the process, and stands beside net/http/pprof.
//
//	page := statusz.New()
//	th, err := throttle.New(throttle.Config{Name: "recommendations", Hooks: page.Hooks()})
//	...
//	http.Handle("/debug/throttle", page)
//
// The page shows, by throttle and priority, what is admitted and shed, with which probability and why, what is in flight, what the window
// holds, and the last five minutes of it; opened, also settings, faults and fallbacks. Its address may say what to look at first:
// /debug/throttle?q=orders&sort=name. [Page.Add] shows other things beside throttles: breakers, buckets and backoffs (package
// sources makes them).
//
// Keep it off public listeners, as for pprof: it tells the names of backends, the host and the load to whoever asks. It changes
// nothing.
//
// # Cost
//
// A call costs nothing more with the page than without: only the making and the closing of a throttle are told to it, and the rest is
// read from what throttles count anyway. While nobody looks there is no goroutine and no history. The first who looks, at the page or at
// its JSON, starts one goroutine, which reads every throttle once per second; for each question to a [Source] there is another. They
// end five minutes after the last one has left, and the history with them.
//
// The history is the last 300 samples: 4 bytes for each of three figures of each priority, so 4 kB for a priority that sheds all the
// time, 1.3 kB for a healthy one, nothing for an idle one. A thousand throttles of four priorities that all shed are the worst case:
// 20 MB, of which 16 are history, and about 3 % of a processor. An event of their stream has 250 kB, and the snapshot with which a stream
// begins 12 MB. All is encoded once per second at most, for all who look.
//
// Up to 256 streams may be open, and 256 other answers on their way. A client that takes nothing for ten seconds, or is a minute behind, is
// dropped, and the page in a browser comes back by itself. All end with [Page.Close].
//
// # One row per name
//
// Throttles of one name, such as the members of a Group, are one row. Their counters are added up, those of closed ones are kept, and so
// nothing falls while the name lives; the probability is the highest of the open ones, window and calls in flight are sums over them. A
// call that was in flight when its throttle was closed, because its Group let go of it, say, is counted when it ends, if that is within
// ten minutes. When the last is closed, the row goes, and a throttle that brings the name back begins from 0.
//
// # JSON
//
// ?format=json, or an Accept header that prefers application/json, asks for the same as JSON, and with history=1 for the history
// too. Throttles are ordered by name, sources by kind and name; fields may be added, but do not change:
//
//	{
//	  "time": "2026-11-21T05:59:15.583Z",
//	  "process": {"command": "shop", "host": "web-7", "pid": 4711, "go": "go1.26.8", "started": "2026-11-21T05:59:11.554Z"},
//	  "sampled_since": "2026-11-21T05:59:15.583Z",   // when the history begins
//	  "throttles": [{
//	    "name": "recommendations", "policy": "sre", "mode": "enforce",  // "mixed" if instances differ
//	    "instances": 1, "mixed": false,                                 // true if any settings differ: they are those of the oldest
//	    "ratio": 2, "minimum_rate": 1, "target_rejection": 0, "window_seconds": 60,
//	    "priorities": [{
//	      "priority": "high", "probability": 0.25, "cause": "own",      // of shedding the next call
//	      "in_flight": 3,                                               // admitted by open throttles, and not ended
//	      "admitted": 1200,                                             // let through since the start, those in flight among them
//	      "shed": {"own": 40, "above": 0},                              // refused, by cause
//	      "would_shed": {"own": 0, "above": 0},                         // admitted in Shadow, but Enforce would have refused them
//	      "window": {"accepted": 500, "rejected": 30, "shed": 40},
//	      "ended": [{"outcome": "accepted", "fault": "none", "calls": 1100}],   // how admitted calls ended, none for 0 calls
//	      "fallbacks": [{"outcome": "shed", "fault": "none", "calls": 40}],     // after which outcome, and how they failed themselves
//	      "clamped": 0,                                                 // calls whose priority was out of range
//	      "rates": {"admitted": 21.5, "shed": 1, "would_shed": 0},      // per second, over the last one; null until there is one
//	      "history": {"admitted": [], "shed": [], "would_shed": [], "probability": []}  // per second, the newest last
//	    }]
//	  }],
//	  "sources": [{
//	    "kind": "breaker", "name": "payments", "state": "open", "level": "bad",
//	    "error": "panicked: ...",                                       // only if there was no answer
//	    "figures": [{"name": "failures", "value": 96.2, "unit": "%"}],  // null if the value is not finite
//	    "transitions": [{"time": "2026-11-21T05:57:02.120Z", "from": "closed", "to": "open"}]
//	  }]
//	}
//
// ?format=stream, or an Accept header that prefers text/event-stream, is what the page itself reads: an event named snapshot
// with all there is and its history, then every second an event named sample with what has changed. Its format belongs to the
// page and may change; programs read the JSON.
package statusz
