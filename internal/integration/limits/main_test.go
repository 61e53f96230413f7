package limits

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// asAgent is the first argument with which the test binary runs as an agent.
const asAgent = "agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		if err := runAgent(os.Args[2]); err != nil {
			fmt.Println("\nagent failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A process under the race detector lingers for a second at its end, by default.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	// The engines wait most of the time, so they all run at once on a machine with fewer cores.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
