package limits

import (
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// asAgent is the first argument with which the test binary runs as an agent.
const asAgent = "agent"

// TestMain runs all engines at once.
func TestMain(m *testing.M) {
	program.Main(m, 4, map[string]func([]string) error{asAgent: runAgent})
}
