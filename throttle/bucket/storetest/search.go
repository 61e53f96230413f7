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

// search looks for an order of operations. At each step it tries every operation that may come
// next: one that was called before any other remaining operation returned.
//
// The search finds an order if and only if there is one, as History.Check defines it. A bucket's
// true level is a number in the span of a level, and level.after returns exactly the spans that are
// possible next. Whether a set of operations can be completed depends only on the set and the
// level. The search visits each such pair once. There are few pairs: after the first answer the
// level is known to within a window. From then on, an answer that grants n tokens fits one level.
//
// There is one exception, in favor of the store. A store may forget a full bucket. So after a
// Return that may have filled the bucket, the bucket counts as possibly full since long ago.
type search struct {
	operations []operation // sorted by begun
	resolution int64
	done       []uint64 // one bit per operation
	left       int
	seen       map[string]bool
	steps      int

	// For the message of a failure: the longest order found, and the level at its end.
	order, longest []int
	end            level
}

// mostSteps limits the search, to about a second.
const mostSteps = 500_000

var errUnexplained = errors.New("storetest: not linearizable: no order of these operations agrees with store.Level")

// explain returns an error if the operations on one bucket are not linearizable. They must be
// sorted by begun.
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

// from reports whether the remaining operations can follow a level. All operations before first are
// done.
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

// next returns the operations that may come next, sorted by their return. That is mostly the true
// order.
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

// visited reports whether the search was at this point before, and marks it.
func (s *search) visited(v level) bool {
	key := make([]byte, 0, 8*len(s.done)+40)
	for _, word := range s.done {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	for _, n := range []int64{v.at.from, v.at.to, v.used, int64(v.by.Interval()), v.by.Capacity} {
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

// explanation formats the longest order that was found, and the operations that do not fit.
func (s *search) explanation() string {
	const most = 8
	var b strings.Builder
	fmt.Fprintf(&b, "%s, the longest order has %d of %d operations", describe(s.operations[0].request.Limit), len(s.longest), len(s.operations))
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
		fmt.Fprintf(&b, "\n  but then not %v\n    want %s", s.operations[i], s.end.want(s.operations[i]))
	}
	return b.String()
}
