// Storefront shows a backend collapse without a throttle and hold with one, in one process: visitors of a shop make calls of four
// priorities to a backend that can serve only so many. Open the address that it prints, and change what you like. -h tells the
// flags.
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
		fmt.Fprintf(os.Stderr, "storefront: %v\nstorefront -h tells all flags\n", err)
		os.Exit(exitUsage)
	}
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, browse: browse}
	os.Exit(c.run(interruptible()))
}
