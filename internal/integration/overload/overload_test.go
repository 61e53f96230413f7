package overload

import (
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestAServerProtectsItself runs the example busy at three times the capacity of its servers. Of five
// seconds, the server with Spillway must answer most requests of High, where the other answers next to
// none. Other programs on the machine may spoil an attempt, so there are three.
func TestAServerProtectsItself(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the processors for itself: make test-services runs it alone")
	}
	busy := program.Build(t, "busy")
	const attempts = 3
	failed := 0
	for range attempts {
		protected, bare := highAtThreeTimes(t, busy)
		t.Logf("High is answered in time: %.0f %% with Spillway, %.0f %% without", protected, bare)
		switch {
		case bare < 20 && protected >= 80:
			return
		case bare < 20 && protected < 80:
			failed++
		}
	}
	if failed < attempts {
		t.Skip("this machine has too much other work for an overload")
	}
	t.Error("got less than 80 % of High in every overload")
}

// highAtThreeTimes returns the success of High with Spillway and without in percent, from the last line
// of the program. It is NaN if no request of High has ended.
func highAtThreeTimes(t *testing.T, busy string) (protected, bare float64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), busy, "-addr", "127.0.0.1:0", "-load", "3", "-seconds", "10").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	columns := strings.Fields(lines[len(lines)-1]) // such as 10 s 3.0x 155 100 79 8 0 122 30 446 0 0 0 0 0 - 3481 545
	if len(columns) != 19 {
		t.Fatalf("got the last line %q want 19 columns", lines[len(lines)-1])
	}
	return percent(t, columns[4]), percent(t, columns[12])
}

func percent(t *testing.T, column string) float64 {
	t.Helper()
	if column == "-" {
		return math.NaN()
	}
	n, err := strconv.ParseFloat(column, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
