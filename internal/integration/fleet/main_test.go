package fleet

import (
	"fmt"
	"os"
	"testing"
)

// asAgent is the first argument with which the test binary runs as an agent.
const asAgent = "agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		if err := runAgent(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
