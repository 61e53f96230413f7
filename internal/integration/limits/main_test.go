package limits

import (
	"fmt"
	"os"
	"testing"
)

// asAgent is what the first argument is if the test's own program is to be an agent of the fleet.
const asAgent = "agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		if err := beAgent(os.Args[2]); err != nil {
			fmt.Println("\nsorry:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A process under the race detector lingers for a second at its end, by default.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
