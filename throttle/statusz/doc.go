// Package statusz serves a live page of the throttles in the process that have its hooks. Open it
// when calls are shed. It needs a browser and nothing else: no telemetry, no other server, no
// internet. Mount it next to net/http/pprof.
//
//	page := statusz.New()
//	th, err := throttle.New(throttle.Config{Name: "recommendations", Hooks: page.Hooks()})
//	...
//	http.Handle("/debug/throttle", page)
//
// To show throttles that libraries make without Hooks too, make its hooks the default before they
// are made: throttle.SetDefaultHooks(page.Hooks()). Circuit breakers, token buckets and backoffs
// have no hooks for the page: add each with [Page.Add]. Package statusz/sources makes sources of
// them.
//
// For each throttle and priority the page shows:
//
//   - the rates of admitted and shed calls, with a chart of the last five minutes;
//   - the probability that the next call is shed, and its cause;
//   - the calls in flight, and the counts in the window;
//   - for a [throttle.Group], those of its ten worst members that shed calls;
//   - under Details, the settings, the totals, the faults of calls and fallbacks, with Config.Slow
//     the late calls, the limits and the oldest open call, and all of the ten worst members;
//   - under Details too, how many tenants there are, how many take more than their fair share, and the
//     ten that ask for most, by a hash of the key, or by the key after [Page.ShowTenants].
//
// The query selects what a link shows first: /debug/throttle?q=orders&sort=name.
//
// Keep the page off public listeners, as you do with pprof. It shows names of backends, keys of
// Groups, the host name and the load to every client. It only reads, unless a control is mounted: see below.
//
// # Controls
//
// With [Page.Control], an operator can change the mode, the ratio, the minimum rate and Slow of a
// throttle under Details, for a time and with a reason. The page shows such values, who has set them
// and until when. The same changes can be sent to ?format=control: see package control.
//
//	handler, err := ctl.Handler(authorize)
//	...
//	page.Control(handler)
//
// # Cost
//
// A call costs the same with the page as without. The page's hooks run only when a throttle is made
// or closed; everything else is read from counters that throttles keep anyway. Without viewers
// there is no goroutine and no history. The first request for JSON or for the stream starts one
// goroutine, which reads every throttle once per second. Each poll of a [Source] runs on its own
// goroutine. All of them end, and the history is dropped, five minutes after the last viewer has
// left.
//
// The history holds the last 300 samples, with 4 bytes for each figure that is not always 0. A
// priority that sheds takes 4 kB, a healthy one 1.3 kB, an idle one nothing. The worst case is
// 1,000 throttles of four priorities that all shed. They take 20 MB, of which 16 MB are history,
// and about 3 % of one CPU core. Each event of their stream has 250 kB; the snapshot that starts a
// stream has 12 MB. Every sample is encoded at most once, for all clients together.
//
// At most 256 streams may be open and 256 other responses in flight; further requests get 503. A
// client is disconnected if it takes no data for ten seconds or falls one minute behind. The page
// in the browser reconnects by itself. [Page.Close] ends all streams.
//
// Behind a reverse proxy the page may have any path. If it shows "no data yet", the proxy buffers
// ?format=stream: switch that off there. nginx needs no setting, because of X-Accel-Buffering.
//
// # One row per name
//
// Throttles with the same name, such as the members of a [throttle.Group], share one row:
//
//   - Counters are summed over all throttles of the name, closed ones included, so they never fall
//     while the row exists, unless a Config.Now panics.
//   - The probability is the highest of all open throttles, as are the durations of slow calls. The
//     limit is the lowest.
//   - Windows and calls in flight are summed over all open throttles.
//
// A Group may close a throttle while calls are in flight. Such a call is counted when it ends, if
// that is within ten minutes. When the last open throttle of a name is closed, the row is removed.
// A later throttle of that name starts a new row at 0.
//
// The row of a Group lists the ten worst of its open members: ordered by probability, then by shed
// and by rejected calls in the window, then by key. A member's probability is the highest of its
// priorities; its window and calls in flight are sums over them. Keys longer than 255 bytes are
// cut. Events and JSON do not grow with the number of members.
//
// # JSON
//
// ?format=json, or an Accept header that prefers application/json, returns the same data as JSON;
// history=1 adds the history. Throttles are ordered by name, sources by kind and name. Later
// versions may add fields, but do not change these:
//
//	{
//	  "time": "2026-11-21T05:59:15.583Z",
//	  "process": {
//	    "command": "shop", "host": "web-7", "pid": 4711, "go": "go1.26.8",
//	    "started": "2026-11-21T05:59:11.554Z",
//	    "processor": {                              // of Config.ProcessorWait; absent until the process has served calls
//	      "wait_seconds": 0.041,                    // for a processor, of a goroutine that becomes runnable now
//	      "aim_seconds": 0.03,                      // the wait that is held
//	      "floor_seconds": 0.001,                   // the part of the wait that shedding does not change
//	      "runnable": 12, "processors": 2,          // goroutines that wait, and processors of the process
//	      "share": 0.4,                             // of all calls that are shed
//	      "probabilities": {"high": 0, "important": 0, "medium": 0.2, "low": 1}  // of shedding
//	    }
//	  },
//	  "sampled_since": "2026-11-21T05:59:15.583Z",  // since then; the history is of the last 300 s of that
//	  "throttles": [{
//	    "name": "recommendations",
//	    "policy": "sre", "mode": "enforce",         // "mixed" if instances differ
//	    "instances": 1,                             // open throttles
//	    "mixed": false,                             // settings differ; the oldest instance is shown
//	    "ratio": 2, "minimum_rate": 1, "target_rejection": 0, "window_seconds": 60,
//	    "alert": "none",                            // of Tiered: ratio, growth, formula, full or trial; the longest one
//	    "background": 0,                            // share of the calls whose rejection is forgiven
//	    "state_since": "",                          // begin of the alert, or of the quiet time
//	    "processor_wait_seconds": 0.03,             // Config.ProcessorWait, the lowest one; 0 if it is off or nothing is served
//	    "exempt": 300,                              // exempt calls, such as health checks, in no other count
//	    "load_sent": "calm",                        // to clients: calm or overloaded; absent if nothing is sent
//	    "load_received": "overloaded",              // the worst of calm, mixed, doubted, overloaded; absent if no report came
//	    "slow": {                                   // a set or learned Slow; absent without one
//	      "threshold_seconds": 0.15, "gate": "enforce",
//	      "closed": true,                           // a priority has a limit
//	      "open": 12, "oldest_seconds": 0.4,        // calls without an answer
//	      "written_off": 0,                         // such calls that are not in open any more
//	      "auto": false, "learned_seconds": 0,       // whether it is learned, and what
//	      "full": false                             // calls were found to wait in a queue, with a learned one
//	    },
//	    "tenants": {                                // of throttle.WithTenant; absent if none is known
//	      "known": 100, "above": 1, "shed": 4200,   // shed: calls of tenants above their share, since the start
//	      "top": [                                  // the ten that ask for most; id is a hash, or "" without a tenant
//	        {"id": "0426d76", "key": "account 17", "share": 0.9, "above": true}  // key only after ShowTenants
//	      ]
//	    },
//	    "priorities": [{
//	      "priority": "high",
//	      "probability": 0.25, "cause": "own",      // of shedding the next call
//	      "in_flight": 3,                           // calls admitted and not ended
//	      "admitted": 1200,                         // since the start, calls in flight included
//	      "shed": {"own": 40, "above": 0},          // by cause; "limit", "processor" and "told" if they are not 0
//	      "would_shed": {"own": 0, "above": 0},     // admitted in Shadow; Enforce would shed them
//	      "window": {"accepted": 500, "rejected": 30, "shed": 40},
//	      "ended": [                                // admitted calls by outcome, zero counts omitted
//	        {"outcome": "accepted", "fault": "none", "calls": 1100}
//	      ],
//	      "overloaded": 20,                         // rejected calls of which the backend said that it is full
//	      "fallbacks": [                            // by outcome of the call and own fault
//	        {"outcome": "shed", "fault": "none", "calls": 40}
//	      ],
//	      "clamped": 0,                             // calls whose priority was out of range
//	      "slow": {                                 // totals; limit is of open calls, now, or 0
//	        "late": 9, "booked": 3, "written_off": 0, "would_refuse": 0, "limit": 6
//	      },
//	      "rates": {                                // per second; null in the first sample
//	        "admitted": 21.5, "shed": 1, "would_shed": 0
//	      },
//	      "history": {                              // one value per second, newest last
//	        "admitted": [], "shed": [], "would_shed": [], "probability": []
//	      }
//	    }],
//	    "members": [{                               // of a Group, the ten worst, worst first
//	      "key": "api-7.example.com", "probability": 0.6, "in_flight": 2,
//	      "window": {"accepted": 20, "rejected": 30, "shed": 40}
//	    }],
//	    "members_omitted": 15                       // members that are not listed
//	  }],
//	  "sources": [{
//	    "kind": "breaker", "name": "payments", "state": "open", "level": "bad",
//	    "error": "panicked: ...",                   // only if Status panicked or has not returned
//	    "figures": [
//	      {"name": "failures", "value": 96.2, "unit": "%"}  // value is null if it is not finite
//	    ],
//	    "transitions": [
//	      {"time": "2026-11-21T05:57:02.120Z", "from": "closed", "to": "open"}
//	    ]
//	  }]
//	}
//
// ?format=stream, or an Accept header that prefers text/event-stream, returns the event stream that
// the page reads. An event named snapshot has the current state and its history. Then an event
// named sample follows every second with what has changed. Its format may change in any version;
// programs should read the JSON.
package statusz
