// Webhooks shows a distributed circuit breaker at work: three agents of a dispatcher deliver webhooks to two thousand endpoints, some of
// which die, come back, are disabled and enabled again, while nobody else has to wait. It needs nothing but Go. -h tells the flags.
package main

import (
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	s, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(program.Explain(os.Stdout, os.Stderr, "webhooks", usage, err))
	}
	os.Exit(command{settings: s, stdout: os.Stdout, stderr: os.Stderr}.run(program.Interruptible()))
}
