package main

// usage is what -h tells.
const usage = `Quota shows a quota of calls per second that several processes share.

usage: go run ./examples/quota [flags]

  -duration d      about how long the story takes, such as 15s: 5s to 10m (default 15s)
  -processes n     processes that call the partner: 1 to 16 (default 3)
  -workers n       workers of each process: 1 to 64 (default 4), and at least 1 for each 100 calls of the quota
  -quota n         calls per second that the partner allows: 10 to 500 (default 50), and at least 4 for each process
  -policy p        what holds while the store gives no answer: open, closed or share (default share)
  -redis address   let the processes share a Redis, such as 127.0.0.1:6379
  -metrics address serve /metrics for Prometheus and /debug/throttle, such as 127.0.0.1:9464: the first process there, the others at the
                   ports after it; with port 0 each takes a free one

Without -redis the processes share a file of SQLite in a temporary folder. In Redis the bucket has a name of its own for each run, and is
removed at the end.

Ctrl-C ends the run and prints what there is; a second one ends at once. The processes end with the command, whatever it dies of. It exits
with 0 if all is well, 1 if it could not run or a promise was broken, and 2 for flags that make no sense; go run makes a 1 of that. What was
missed only because the machine is busy is said, and is no reason to fail.

Examples:
  # The whole story
  go run ./examples/quota

  # What happens if nobody limits anything while the store is gone
  go run ./examples/quota -policy open

  # Slow enough to watch in Grafana
  go run ./examples/quota -duration 10m -metrics 127.0.0.1:9464
`
