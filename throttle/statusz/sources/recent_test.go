package sources

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRecent_keepsTenSeconds reads more often than snapshots are kept.
func TestRecent_keepsTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history[int]
		calls := 0
		read := func() change[int] { return h.read(func() int { return calls }) }
		for range 1000 {
			calls++
			if c := read(); c.over > memory {
				t.Fatalf("got a difference over %v want at most %v", c.over, memory)
			}
			time.Sleep(50 * time.Millisecond)
		}
		c := read()
		if n := len(h.snapshots); n > int(memory/spacing)+1 || c.now-c.before != 199 || c.over != memory {
			t.Errorf("got %d snapshots, %d calls in %v want at most 21, and 199 in ten seconds", n, c.now-c.before, c.over)
		}
		time.Sleep(time.Hour)
		if c := read(); c.over < time.Hour || len(h.snapshots) != 1 {
			t.Errorf("after an hour: got a difference over %v, %d snapshots want the last snapshot compared, and 1 kept", c.over, len(h.snapshots))
		}
	})
}
