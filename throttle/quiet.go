package throttle

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The monitor compares with blocks of quiet time. The earlier demand and the background are known after
// knownBlocks.
const (
	blockLength           = 10 * time.Second
	knownBlocks           = 3
	maxBlocks             = 2 * knownBlocks
	maxMeasuredBackground = 0.4
	// Demand has grown if it exceeds the earlier demand by this share, and by this number of
	// standard deviations. It is back below these multiples of the earlier demand.
	grownShare, grownDeviations = 0.2, 3
	backInWindow, backRecently  = 1.2, 1.5
)

// quietTime is what a throttle knows of the time without an alert.
type quietTime struct {
	blocks [maxBlocks]block
	known  int // number of blocks, the newest last
}

// block is a part of the quiet time.
type block struct {
	seconds, demand, rejected, answers float64
}

// newBlock returns a block with the calls of some time. Rejections of which the backend said that it is
// full are no background.
func newBlock(c *window.Counts, length time.Duration) block {
	return block{length.Seconds(), requests(c), doubts(c), answersOf(c)}
}

func (q *quietTime) add(b block) {
	copy(q.blocks[:], q.blocks[1:])
	q.blocks[maxBlocks-1] = b
	q.known = min(maxBlocks, q.known+1)
}

func (q *quietTime) replace(b block) {
	for range maxBlocks {
		q.add(b)
	}
}

func (q *quietTime) isKnown() bool { return q.known >= knownBlocks }

// rejected returns the ratio of rejections that both halves of the quiet time had at least. The newer
// half may already hold the begin of an overload.
func (q *quietTime) rejected() float64 {
	if !q.isKnown() {
		return 0
	}
	quiet := q.blocks[maxBlocks-q.known:]
	older, newer := quiet[:q.known/2], quiet[q.known/2:]
	return min(maxMeasuredBackground, rejectedOf(older), rejectedOf(newer))
}

// rejectedOf returns the ratio of rejections in blocks.
func rejectedOf(blocks []block) float64 {
	var rejected, answers float64
	for _, b := range blocks {
		rejected, answers = rejected+b.rejected, answers+b.answers
	}
	return rejected / max(1, answers)
}

// demand returns the calls per second of the quiet time.
func (q *quietTime) demand() float64 {
	var calls, seconds float64
	for _, b := range q.blocks[maxBlocks-q.known:] {
		calls, seconds = calls+b.demand, seconds+b.seconds
	}
	return calls / max(1, seconds)
}

// hasGrown reports whether the demand is larger than in the quiet time: in the window, or recently.
func (q *quietTime) hasGrown(o *observation, span time.Duration) bool {
	if !q.isKnown() {
		return false
	}
	usual, recent := q.demand()*span.Seconds(), window.Sum(o.recent)
	return exceeds(&o.span, usual) || exceeds(&recent, usual/recentPart)
}

// exceeds reports whether the demand is clearly larger than usual.
func exceeds(c *window.Counts, usual float64) bool {
	return requests(c) > (1+grownShare)*usual+grownDeviations*math.Sqrt(max(1, usual))
}
