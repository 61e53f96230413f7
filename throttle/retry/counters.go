package retry

import (
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// stripes is the number of stripes of counters. Goroutines on different processors rarely share one.
const stripes = 8

// stripe counts the most frequent end of a call: its first attempt was accepted. It fills two cache
// lines, because they are fetched in pairs.
type stripe struct {
	accepted atomic.Uint64
	_        [120]byte
}

type counters struct {
	stripes [stripes]stripe
	ended   [maxAttempts + 1]atomic.Uint64 // other calls, by the number of attempts that were sent
	sent    atomic.Uint64                  // retries without hedges
	hedged  atomic.Uint64
	denied  [numReasons]atomic.Uint64
}

func (c *counters) accept() { c.stripes[window.PickOf(stripes)].accepted.Add(1) }

func (c *counters) accepted() uint64 {
	var sum uint64
	for i := range c.stripes {
		sum += c.stripes[i].accepted.Load()
	}
	return sum
}
