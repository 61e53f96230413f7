// Storefront is a shop whose backend is overloaded, in one process. Visitors make calls of four
// priorities. A throttle protects the backend; a second backend gets the same calls without a
// throttle, for comparison. Open the address that the program prints, and change the load. -h lists
// the flags.
package main

import (
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	s, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(program.Explain(os.Stdout, os.Stderr, "storefront", usage, err))
	}
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, browse: program.Browse}
	os.Exit(c.run(program.Interruptible()))
}
