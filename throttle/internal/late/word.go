package late

import "sync/atomic"

// A word holds the number of open calls of a slot in its lower half, and the epoch of the slot in its
// upper half. The slots that share a word differ by their epochs.

func wordOf(epoch, calls uint32) uint64 { return uint64(epoch)<<32 | uint64(calls) }

func epoch(slot int64) uint32 { return uint32(slot / slots) }

func (r *Ring) word(stripe, row int, slot int64) *atomic.Uint64 {
	return &r.words[(stripe+1)*r.stride+(int(slot%slots)-slots)*r.rows+row]
}

// enter adds a call. It returns false if the slot is closed, or if calls of an earlier epoch are left.
func enter(w *atomic.Uint64, epoch uint32) bool {
	for {
		before := w.Load()
		after := before + 1
		if own := uint32(before >> 32); own != epoch {
			if int32(own-epoch) > 0 || uint32(before) > 0 {
				return false
			}
			after = wordOf(epoch, 1)
		}
		if w.CompareAndSwap(before, after) {
			return true
		}
	}
}

// leave removes a call. It returns false if the slot is closed.
func leave(w *atomic.Uint64, epoch uint32) bool {
	for {
		before := w.Load()
		if uint32(before>>32) != epoch {
			return false
		}
		if w.CompareAndSwap(before, before-1) {
			return true
		}
	}
}
