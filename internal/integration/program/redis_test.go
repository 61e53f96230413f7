package program

import "testing"

// TestRedis_FreezeKillRestart does to a Redis what the tests of stores do.
func TestRedis_FreezeKillRestart(t *testing.T) {
	r := Redis(t)
	r.Do(t, "SET", "key", "value")
	r.Freeze(t)
	if _, err := r.send(t, answerTimeout, "PING"); err == nil {
		t.Error("frozen: got an answer want none")
	}
	r.Thaw(t)
	if got := r.Do(t, "GET", "key"); got != "value" {
		t.Errorf("thawed: got %v want value", got)
	}
	r.Kill(t)
	if _, err := r.send(t, answerTimeout, "PING"); err == nil {
		t.Error("killed: got an answer want none")
	}
	r.Restart(t)
	if got := r.Do(t, "EXISTS", "key"); got != int64(0) {
		t.Errorf("started again: got %v keys want 0", got)
	}
	r.Freeze(t) // the end of the test must thaw it
}
