// Webhooks shows a distributed circuit breaker at work: three agents of a dispatcher deliver webhooks to two thousand endpoints, some of
// which die, come back, are disabled and enabled again, while nobody else has to wait. It needs nothing but Go. -h tells the flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// What the command ends with.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		if _, err := io.WriteString(os.Stdout, usage); err != nil {
			os.Exit(exitFailed)
		}
		os.Exit(exitDone)
	case err != nil:
		fmt.Fprintf(os.Stderr, "webhooks: %v\nwebhooks -h tells all flags\n", err)
		os.Exit(exitUsage)
	}
	os.Exit(command{settings: s, stdout: os.Stdout, stderr: os.Stderr}.run(interruptible()))
}
