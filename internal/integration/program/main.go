package program

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
)

// Main runs the tests of a package, or one of the programs that are in their binary too: that whose name is the first argument. It
// gets the other ones. Tests that wait most of the time run in parallel, also on a machine with fewer processors.
func Main(m *testing.M, parallel int, programs map[string]func(args []string) error) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		if err := programs[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Println("\nprogram failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	// A process under the race detector lingers for a second at its end, by default.
	for _, err := range []error{
		flag.Set("test.parallel", strconv.Itoa(parallel)), os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")),
	} {
		if err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// ExitWhenInterrupted ends the process without an error when it is interrupted.
func ExitWhenInterrupted() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		defer stop()
		<-ctx.Done()
		os.Exit(0)
	}()
}
