package main

// usage is what -h tells.
const usage = `Batch shows a job whose workers share one backoff, which finds the rate that a table bears, and one bucket, which keeps to what may be spent.

usage: go run ./examples/batch [flags]

  -duration d      about how long the story takes, such as 20s: 5s to 10m (default 20s); the less the capacity, the longer it must be
  -workers n       workers that write to the table: 1 to 512 (default 64), and enough for what it bears
  -capacity n      units a second that the table bears at first: 50 to 1000 (default 400, more if the story is short); it doubles under load
  -plot file       where to draw the delay over time, as .svg or .png (default batch.svg in a new temporary folder)
  -metrics address serve /metrics for Prometheus and /debug/throttle, such as 127.0.0.1:9464
  -repeat          play the acts with the backoff over and over, until Ctrl-C, with the same backoff and bucket; a broken promise is
                   then told, and is no reason to fail, and nothing is drawn
  -seed n          for the table's dice (default 1); since all runs by the wall clock, two runs are never the same

Ctrl-C ends the run, and prints and draws what there is; a second one ends at once. It exits with 0 if all is well, 1 if it could not run or a
promise was broken, and 2 for flags that make no sense; go run makes a 1 of that.

Examples:
  # The whole story
  go run ./examples/batch -plot delay.svg

  # The same delay for many workers and for few
  go run ./examples/batch -workers 512
  go run ./examples/batch -workers 16

  # Slow enough to watch in Grafana
  go run ./examples/batch -duration 10m -metrics 127.0.0.1:9464
`
