package monitoring

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A hope is something that has to come true. It is asked what is missing until nothing is.
type hope struct {
	what    string
	missing func() string
}

// fulfilled waits until all hopes have come true, in any order, and tells of all that have not: together they may take as long as one.
func fulfilled(t testing.TB, what string, hopes ...hope) {
	t.Helper()
	program.Eventually(t, what, func() string {
		var open []hope
		var lacks []string
		for _, h := range hopes {
			if lack := h.missing(); lack != "" {
				open = append(open, h)
				lacks = append(lacks, h.what+": "+lack)
			}
		}
		hopes = open
		return strings.Join(lacks, "\n")
	})
}
