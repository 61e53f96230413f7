package fleet

import (
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// asAgent is the first argument with which the test binary runs as an agent.
const asAgent = "agent"

func TestMain(m *testing.M) {
	program.Main(m, 1, map[string]func([]string) error{asAgent: runAgent})
}
