package program

import "testing"

// TestAServerIsFrozenKilledAndStartedAgain does to a server what tests of stores do.
func TestAServerIsFrozenKilledAndStartedAgain(t *testing.T) {
	r := Redis(t)
	r.Do(t, "SET", "key", "value")
	r.Freeze(t)
	if _, err := r.ask(t, silence, "PING"); err == nil {
		t.Error("frozen: got an answer want none")
	}
	r.Thaw(t)
	if got := r.Do(t, "GET", "key"); got != "value" {
		t.Errorf("thawed: got %v want value", got)
	}
	r.Kill(t)
	if _, err := r.ask(t, silence, "PING"); err == nil {
		t.Error("killed: got an answer want none")
	}
	r.Restart(t)
	if got := r.Do(t, "EXISTS", "key"); got != int64(0) {
		t.Errorf("started again: got %v keys want 0", got)
	}
	r.Freeze(t) // leaving must thaw it
}
