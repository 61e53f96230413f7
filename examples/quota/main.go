// Quota is a limit of calls per second that several processes share. The command starts itself once
// per process. For a third of the time the store of their bucket gives no answer, and the failure
// policy of the limiter decides.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

const usage = `Quota shows processes that share one token bucket, and the failure policy while its store is gone.

usage: go run ./examples/quota [flags]

  -duration d         how long the run takes, from 1s to 24h, or 0 for until Ctrl-C (default 15s)
  -processes n        processes, 1 to 16 (default 3)
  -quota n            calls per second that a partner allows, 20 to 500 (default 50)
  -policy p           policy while the store gives no answer: open, closed or share (default share)
  -redis host:port    keep the bucket in this Redis instead of a file of SQLite
  -metrics host:port  let the first process serve /metrics for Prometheus and /debug/throttle,
                      such as 127.0.0.1:9464; port 0 takes a free one

Ctrl-C ends the run and prints the summary. The exit code is 0, 1 if the command could not run, 2
for a wrong flag.
`

// settings are the values of the flags, and the place of the bucket. Each process gets them as
// JSON.
type settings struct {
	Duration  time.Duration
	Processes int
	Quota     int
	Policy    bucket.FailurePolicy
	Redis     string // empty: SQLite
	Metrics   string // empty: no server

	Bucket string // name of the bucket in the store
	File   string // of SQLite, if Redis is empty
}

func main() {
	if text := os.Getenv(settingsVariable); text != "" {
		os.Exit(member(text, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(command(program.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := settings{Duration: 15 * time.Second, Processes: 3, Quota: 50, Policy: bucket.LocalShare}
	flags := flag.NewFlagSet("quota", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.Duration))
	flags.Func("processes", "", program.Whole(&s.Processes, 1, 16, "processes"))
	flags.Func("quota", "", program.Whole(&s.Quota, 20, 500, "calls per second"))
	flags.Func("policy", "", s.setPolicy)
	flags.Func("redis", "", program.Address(&s.Redis, "127.0.0.1:6379"))
	flags.Func("metrics", "", program.Address(&s.Metrics, "127.0.0.1:9464"))
	if err := program.Parse(flags, args); err != nil {
		return program.Explain(stdout, stderr, "quota", usage, err)
	}
	return program.Conclude(stderr, "quota", run(ctx, s, stdout, stderr))
}

func (s *settings) setPolicy(text string) error {
	policies := map[string]bucket.FailurePolicy{"open": bucket.FailOpen, "closed": bucket.FailClosed, "share": bucket.LocalShare}
	policy, ok := policies[text]
	if !ok {
		return errors.New("want open, closed or share")
	}
	s.Policy = policy
	return nil
}
