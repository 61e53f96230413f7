package main

// usage is what -h tells.
const usage = `Storefront shows a backend collapse without a throttle and hold with one.

usage: go run ./examples/storefront [flags]

  -listen address      where the page is served (default 127.0.0.1:8080); with port 0 a free one is taken
  -open                open the page in the browser
  -duration d          how long to run, such as 20s: 1s to 168h (default 0: until Ctrl-C)
  -healthcheck         do not run, but ask the storefront that runs at -listen whether it is well: exit with 0 if it says so
                       within 2 s, else with 1. Only -listen goes with it. For containers, which have nothing else to ask with

How it begins; all of it can be changed on the page:
  -load x              calls offered, as a multiple of the capacity: 0 to 10 (default 0.8)
  -capacity n          calls per second that the backend can serve: 50 to 2000 (default 400)
  -policy name         sre or tiered (default tiered)
  -scenario name       what happens by itself, until somebody changes load or backend on the page (default none):
                         overload   3 s of calm, then four times the capacity until the end
                         outage     5 s of calm, 10 s in which the backend is down, 15 s of calm, and again
                         brownout   the same, with a backend that has lost three quarters of its capacity
                         tour       for watching alerts come and go: 2 min of calm, 5 min of four times the capacity, 10 min of
                                    calm, 4 min of as much with the backend down, 10 min of calm, and again
                         none       nothing

A line a second goes to the standard output, and a summary at the end. The page links to /metrics, for Prometheus, with
exemplars, and to /debug/throttle. What an Alertmanager sends to the webhook /alerts is told between the lines. Traces are
sent if OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set.

Ctrl-C ends the run and prints the summary; a second one ends at once. The command exits with 0 if all is well, 1 if it could
not run, and 2 for flags that make no sense; go run makes a 1 of that.

Examples:
  # Look for yourself
  go run ./examples/storefront -open

  # Twenty seconds in the terminal: who succeeds at four times the capacity?
  go run ./examples/storefront -duration 20s -scenario overload
`
