package statusz

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestLoad_words has the worst word of the open throttles of a row.
func TestLoad_words(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		a, b := newThrottle(t, p, throttle.Config{Name: "db", Priorities: 1}), newThrottle(t, p, throttle.Config{Name: "db", Priorities: 1})
		overloaded := throttle.LoadReport{Overloaded: true}
		show(t, p)
		for _, step := range []struct {
			do             func()
			sent, received string
		}{
			{func() {}, "", ""},
			{func() { a.LoadReport() }, "calm", ""},
			{func() { b.ReceiveLoad(overloaded) }, "calm", "overloaded"},
			{func() { time.Sleep(time.Minute) }, "calm", ""},
			{func() { a.ReceiveLoad(overloaded); b.ReceiveLoad(overloaded); _ = a.Close() }, "", "overloaded"},
		} {
			step.do()
			tick()
			row := find(t, show(t, p), "db")
			if row.LoadSent != step.sent || row.LoadReceived != step.received {
				t.Errorf("got sent %q and received %q, want %q and %q", row.LoadSent, row.LoadReceived, step.sent, step.received)
			}
		}
	})
}

// TestWorse orders all words.
func TestWorse(t *testing.T) {
	words := []string{"", "calm", "mixed", "doubted", "overloaded"}
	for i, word := range words[1:] {
		if worse(words[i], word) != word || worse(word, words[i]) != word {
			t.Errorf("%s is not worse than %q", word, words[i])
		}
	}
}
