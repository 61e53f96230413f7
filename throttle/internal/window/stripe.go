package window

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// The columns of a row, by what they count as. Each kind has as many as lie before the next.
const (
	Accepted = 0 // and 1
	Rejected = 2
	Shed     = 3 // to 5
	Free     = 6 // and 7: not remembered, they only grow

	// Columns is the number of counters in a row: what fits on one cache line.
	Columns = 8
)

const (
	fewestStripes = 4
	mostStripes   = 16
)

// Row is one row of the table within one stripe. It fills a cache line.
type Row [Columns]atomic.Uint64

// addTo adds the row to sum.
func (r *Row) addTo(sum *Counts) {
	sum.Accepted += r[Accepted].Load() + r[Accepted+1].Load()
	sum.Rejected += r[Rejected].Load()
	sum.Shed += r[Shed].Load() + r[Shed+1].Load() + r[Shed+2].Load()
}

// stripesFor rounds the wish up to a power of two. Without a wish it gives each processor two, so that two busy goroutines
// seldom meet, but never more than sixteen, because readers add them all up.
func stripesFor(wish int) int {
	if wish <= 0 {
		wish = min(max(2*runtime.GOMAXPROCS(0), fewestStripes), mostStripes)
	}
	n := 1
	for n < wish {
		n *= 2
	}
	return n
}

// Pick returns the stripe on which the calling goroutine should count. Pick once per call and keep the answer.
//
// Goroutines have stacks of their own, so the address of a local variable tells them apart for the price of a
// multiplication. A stack may move between two picks; that costs speed for a moment and never correctness.
func (w *Window) Pick() int {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here)))
	return int((address >> 11 * 0x9E3779B97F4A7C15) >> 32 & w.mask)
}

// Stripes returns the number of stripes: picks lie below it.
func (w *Window) Stripes() int { return int(w.mask) + 1 }

// Row returns the counters of row on stripe.
func (w *Window) Row(stripe, row int) *Row {
	return &w.cells[stripe*w.stride+row]
}

// Total returns the sum of one counter over the stripes, since the window was made.
func (w *Window) Total(row, column int) uint64 {
	var sum uint64
	for i := row; i < len(w.cells); i += w.stride {
		sum += w.cells[i][column].Load()
	}
	return sum
}
