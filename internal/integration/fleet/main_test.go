package fleet

import (
	"fmt"
	"os"
	"testing"
)

// asAgent is what the first argument is if the test's own program is to be an agent of the fleet.
const asAgent = "agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		if err := beAgent(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
