package sources

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRecent_keepsTenSeconds reads more often than snapshots are kept.
func TestRecent_keepsTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent[int]
		calls, difference, over := 0, 0, time.Duration(0)
		read := func() int { return calls }
		compare := func(before, now *int, d time.Duration) { difference, over = *now-*before, d }
		for range 1000 {
			calls++
			if r.compare(read, compare); over > memory {
				t.Fatalf("got a difference over %v want at most %v", over, memory)
			}
			time.Sleep(50 * time.Millisecond)
		}
		r.compare(read, compare)
		if n := len(r.snapshots); n > int(memory/spacing)+1 || difference != 199 || over != memory {
			t.Errorf("got %d snapshots, %d calls in %v want at most 21, and 199 in ten seconds", n, difference, over)
		}
		time.Sleep(time.Hour)
		if r.compare(read, compare); over < time.Hour || len(r.snapshots) != 1 {
			t.Errorf("after an hour: got a difference over %v, %d snapshots want the last snapshot compared, and 1 kept", over, len(r.snapshots))
		}
	})
}
