// Storefront is a shop whose backend is overloaded, in one process. Visitors make calls of four
// priorities. A throttle protects the backend; a second backend gets the same calls without a
// throttle, for comparison. Open the address that the program prints, and change the load. -h lists
// the flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// Exit codes.
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
		fmt.Fprintf(os.Stderr, "storefront: %v\nstorefront -h lists all flags\n", err)
		os.Exit(exitUsage)
	}
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, browse: program.Browse}
	os.Exit(c.run(program.Interruptible()))
}
