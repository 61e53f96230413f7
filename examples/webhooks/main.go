// Webhooks is a dispatcher of webhooks. Its agents share a circuit breaker, so that an endpoint
// that does not answer cannot occupy all workers. Some endpoints stop answering, and answer again
// later.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
)

const usage = `Webhooks shows agents that share a circuit breaker, and endpoints that stop answering for a while.

usage: go run ./examples/webhooks [flags]

  -duration d         how long the agents run, from 1s to 24h, or 0 for until Ctrl-C (default 20s)
  -endpoints n        endpoints, 20 to 400 (default 100); each gets 5 deliveries a second
  -dry-run            make all deliveries, and only count those that the breaker would shed
  -redis host:port    keep the circuits in this Redis
  -postgres dsn       keep the deliveries and, without -redis, the circuits in this database,
                      such as postgres://user@127.0.0.1:5432/database
  -metrics host:port  serve /metrics for Prometheus and /debug/throttle, such as 127.0.0.1:9464;
                      port 0 takes a free one

Without -redis and -postgres the deliveries and circuits are in a temporary SQLite file.
Ctrl-C ends the run and prints the summary. The exit code is 0, 1 if the command could not run, 2
for a wrong flag.
`

// settings are the values of the flags.
type settings struct {
	duration  time.Duration
	endpoints int
	mode      throttle.Mode
	redis     string // empty: the circuits are in the same database as the deliveries
	postgres  string // empty: SQLite
	metrics   string // empty: no server

	rate  int           // deliveries per second
	round time.Duration // between two polls of the leader; the other times are multiples of it
}

func main() {
	os.Exit(command(program.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if err != nil {
		return program.Explain(stdout, stderr, "webhooks", usage, err)
	}
	return program.Conclude(stderr, "webhooks", run(ctx, s, stdout))
}

func parse(args []string) (settings, error) {
	s := settings{duration: 20 * time.Second, endpoints: 100, round: 500 * time.Millisecond}
	flags := flag.NewFlagSet("webhooks", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.duration))
	flags.Func("endpoints", "", program.Whole(&s.endpoints, 20, 400, "endpoints"))
	dryRun := flags.Bool("dry-run", false, "")
	flags.Func("redis", "", program.Address(&s.redis, "127.0.0.1:6379"))
	flags.StringVar(&s.postgres, "postgres", "", "")
	flags.Func("metrics", "", program.Address(&s.metrics, "127.0.0.1:9464"))
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if _, err := pgx.ParseConfig(s.postgres); s.postgres != "" && err != nil { // not in the error below, because it may contain the password
		return s, errors.New("-postgres: want a data source name such as postgres://user@127.0.0.1:5432/database")
	}
	if *dryRun {
		s.mode = throttle.ModeShadow
	}
	s.rate = 5 * s.endpoints
	return s, nil
}
