// Batch is a job whose workers share one backoff and one bucket. They write to a table whose
// capacity changes. The backoff finds the rate that the table accepts. The bucket limits the rate
// to what the account pays for.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

const usage = `Batch shows workers that share one backoff and one bucket, and a table whose capacity changes.

usage: go run ./examples/batch [flags]

  -duration d         how long the job runs, from 1s to 24h, or 0 for until Ctrl-C (default 20s)
  -workers n          workers that write to the table, 16 to 512 (default 64)
  -backoff=false      let each worker retry without a delay, for comparison
  -metrics host:port  serve /metrics for Prometheus and /debug/throttle, such as 127.0.0.1:9464;
                      port 0 takes a free one

Ctrl-C ends the run and prints the summary. The exit code is 0, 1 if the command could not run, 2
for a wrong flag.
`

// settings are the values of the flags.
type settings struct {
	duration time.Duration
	workers  int
	backoff  bool
	metrics  string // empty: no server
}

func main() {
	os.Exit(command(program.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := settings{duration: 20 * time.Second, workers: 64}
	flags := flag.NewFlagSet("batch", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.duration))
	flags.Func("workers", "", program.Whole(&s.workers, 16, 512, "workers"))
	flags.BoolVar(&s.backoff, "backoff", true, "")
	flags.Func("metrics", "", program.Address(&s.metrics, "127.0.0.1:9464"))
	if err := program.Parse(flags, args); err != nil {
		return program.Explain(stdout, stderr, "batch", usage, err)
	}
	return program.Conclude(stderr, "batch", run(ctx, s, stdout))
}
