package window

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Columns of a row. Accepted has columns 0 and 1, Rejected 2, Full 3, Shed 4 to 6. Column 7 is not part
// of Counts: it is a total only.
const (
	Accepted = 0
	Rejected = 2
	Full     = 3
	Shed     = 4
	Free     = 7

	// Columns is the number of counters in a row. They fill one cache line.
	Columns = 8
)

// Stripes of a window whose Shape.Stripes is 0.
const (
	minStripes = 4
	maxStripes = 16
)

// Row is one row of the table within one stripe. It fills a cache line.
type Row [Columns]atomic.Uint64

// addTo adds the row to sum.
func (r *Row) addTo(sum *Counts) {
	sum.Accepted += r[Accepted].Load() + r[Accepted+1].Load()
	full := r[Full].Load()
	sum.Rejected += r[Rejected].Load() + full
	sum.Full += full
	sum.Shed += r[Shed].Load() + r[Shed+1].Load() + r[Shed+2].Load()
}

// stripesFor rounds a number of stripes up to a power of two. If it is 0 or less, each processor
// gets two stripes, so that two goroutines rarely share one. More than maxStripes make reading
// slow.
func stripesFor(stripes int) int {
	if stripes <= 0 {
		stripes = min(max(2*runtime.GOMAXPROCS(0), minStripes), maxStripes)
	}
	n := 1
	for n < stripes {
		n *= 2
	}
	return n
}

// Pick returns the stripe on which the calling goroutine should count. Call it once per call, and
// keep the result.
func (w *Window) Pick() int { return PickOf(w.Stripes()) }

// PickOf returns the stripe of the calling goroutine, of n. N must be a power of two.
//
// Goroutines have separate stacks, so the address of a local variable differs between goroutines.
// Its hash costs one multiplication. If a stack moves, counting is slower for a moment, and still
// correct.
func PickOf(n int) int {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here)))
	return int(address>>11*0x9E3779B97F4A7C15>>32) & (n - 1)
}

// Stripes returns the number of stripes. Pick returns less than that.
func (w *Window) Stripes() int { return int(w.mask) + 1 }

// Row returns the counters of a row on a stripe.
func (w *Window) Row(stripe, row int) *Row {
	return &w.cells[stripe*w.stride+row]
}

// Total returns the value of one counter since New, summed over all stripes.
func (w *Window) Total(row, column int) uint64 {
	var sum uint64
	for i := row; i < len(w.cells); i += w.stride {
		sum += w.cells[i][column].Load()
	}
	return sum
}
