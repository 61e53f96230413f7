package storetest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// search looks for an order of operations. At each point it tries all that may come next: those that were called before any of the others
// had returned.
//
// It is sound and complete for what History.Check promises. A bucket's true level is a number that is not known better than to lie in the
// span of a level, and level.after returns exactly the spans of the numbers that some time in the window leads to, so an order is found if and
// only if there are numbers and times for it. What is left of the search after a set of operations depends on nothing but that set and the
// level, so that a pair from which there was no way is not looked at again. There are few such pairs: a level that has been seen
// once is known to within a window, and from then on an answer that grants n tokens fits one level alone.
//
// It errs in one way only, on the store's side: a Return that may have filled the bucket leaves one that may have been full for long, because
// a store may forget it.
type search struct {
	operations []operation // by when they began
	resolution int64
	done       []uint64 // a bit for each
	left       int
	seen       map[string]bool
	steps      int

	// What is told of a history that cannot have happened: the longest way, and the level at its end.
	order, longest []int
	end            level
}

// mostSteps is after how many a search gives up, which is about a second.
const mostSteps = 500_000

var errUnexplained = errors.New("storetest: no order of these operations agrees with store.Level")

// explain returns an error if the operations on one bucket, which must be sorted by when they were called, cannot have happened.
func explain(operations []operation, resolution int64) error {
	s := &search{
		operations: operations, resolution: max(1, resolution),
		done: make([]uint64, (len(operations)+63)/64), left: len(operations), seen: map[string]bool{},
		end: full(),
	}
	switch {
	case s.from(0, full()):
		return nil
	case s.steps >= mostSteps:
		return ErrUndecided
	}
	return fmt.Errorf("%w: %s", errUnexplained, s.explanation())
}

// from reports whether there is a way from a level to the end. No operation before the first is left.
func (s *search) from(first int, v level) bool {
	if s.left == 0 {
		return true
	}
	if len(s.order) > len(s.longest) || len(s.longest) == 0 {
		s.longest, s.end = slices.Clone(s.order), v
	}
	if s.steps++; s.steps >= mostSteps || s.visited(v) {
		return false
	}
	for s.has(first) {
		first++
	}
	for _, i := range s.next(first) {
		for _, then := range v.after(s.operations[i], s.resolution) {
			s.mark(i)
			s.order = append(s.order, i)
			if s.from(first, then) {
				return true
			}
			s.order = s.order[:len(s.order)-1]
			s.unmark(i)
		}
	}
	return false
}

// next are the operations that may come next, those first which returned first: that is mostly the true order.
func (s *search) next(first int) []int {
	var all []int
	ended := int64(math.MaxInt64)
	for i := first; i < len(s.operations) && s.operations[i].begun < ended; i++ {
		if !s.has(i) {
			all = append(all, i)
			ended = min(ended, s.operations[i].ended)
		}
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(s.operations[a].ended, s.operations[b].ended) })
	return all
}

// known reports whether this was looked at before.
func (s *search) visited(v level) bool {
	key := make([]byte, 0, 8*len(s.done)+24)
	for _, word := range s.done {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	for _, n := range []int64{v.at.from, v.at.to, v.used} {
		key = binary.LittleEndian.AppendUint64(key, uint64(n))
	}
	if s.seen[string(key)] {
		return true
	}
	s.seen[string(key)] = true
	return false
}

func (s *search) has(i int) bool { return s.done[i/64]>>(i%64)&1 == 1 }

func (s *search) mark(i int) {
	s.done[i/64] |= 1 << (i % 64)
	s.left--
}

func (s *search) unmark(i int) {
	s.done[i/64] &^= 1 << (i % 64)
	s.left++
}

// story tells how far a history can be explained.
func (s *search) explanation() string {
	const most = 8
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d of %d can be put in order", describe(s.operations[0].request.Limit), len(s.longest), len(s.operations))
	s.done, s.left = make([]uint64, len(s.done)), len(s.operations)
	for _, i := range s.longest {
		s.mark(i)
	}
	for _, i := range s.longest[max(0, len(s.longest)-most):] {
		fmt.Fprintf(&b, "\n  then %v", s.operations[i])
	}
	first := 0
	for s.has(first) {
		first++
	}
	for n, i := range s.next(first) {
		if n == most {
			break
		}
		fmt.Fprintf(&b, "\n  but not %v\n    want %s", s.operations[i], s.end.want(s.operations[i]))
	}
	return b.String()
}
