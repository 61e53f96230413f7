//go:build !race

package protocol_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestParseLoad_allocations(t *testing.T) {
	for name, g := range goldenLoads() {
		text, binary := []string{g.text}, []string{protocol.FormatBinaryLoad(g.report)}
		got := testing.AllocsPerRun(1000, func() {
			_, _ = protocol.ParseLoad(text)
			_, _ = protocol.ParseBinaryLoad(binary)
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}
