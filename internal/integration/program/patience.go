package program

import (
	"testing"
	"time"
)

// Patience is how long anything may take that a test waits for. These machines are shared, so it says nothing about speed.
const Patience = 2 * time.Minute

// pace is how often something is asked for that is not there yet.
const pace = 50 * time.Millisecond

// Eventually asks until there is nothing missing any more, and fails with what is missing if that never comes.
func Eventually(t testing.TB, what string, missing func() string) {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	again := time.NewTicker(pace)
	defer again.Stop()
	for {
		lack := missing()
		if lack == "" {
			return
		}
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("%s: not within %v: %s", what, Patience, lack)
		case <-t.Context().Done():
			t.Fatalf("%s: the test is over: %s", what, lack)
		}
	}
}
