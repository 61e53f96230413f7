package storetest

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// kind is what is asked of a store.
type kind uint8

const (
	take kind = iota
	giveBack
	reset
)

// operation is what was asked of a store and what it answered. Times are nanoseconds of a local clock that never steps.
type operation struct {
	kind             kind
	request          store.Request // of a giveBack, Max is how many tokens
	decision         bucket.Decision
	called, returned int64
	begun, ended     int64 // the places of these moments among those of a History, which are never two at once
	err              error
}

// String says what was asked, when, and what was answered.
func (o operation) String() string {
	when := fmt.Sprintf("[%v to %v]", time.Duration(o.called), time.Duration(o.returned))
	switch o.kind {
	case giveBack:
		return fmt.Sprintf("Return %d %s", o.request.Max, when)
	case reset:
		return "Reset " + when
	}
	return fmt.Sprintf("Take %d to %d %s: %s", o.request.Min, o.request.Max, when, answer(o.decision))
}

// answer writes a decision in few words.
func answer(d bucket.Decision) string {
	word := "denied"
	if d.Allowed {
		word = "allowed"
	}
	text := fmt.Sprintf("%s, granted %d, remaining %d of %d, retry after %v, reset after %v",
		word, d.Granted, d.Remaining, d.Limit, d.RetryAfter, d.ResetAfter)
	if d.Source != bucket.SourceStore {
		text += fmt.Sprintf(", from %v", d.Source)
	}
	return text
}

// window is when the store can have looked at its clock.
func (o operation) window(resolution int64) span {
	return span{o.called - resolution, o.returned + resolution}
}

// span is a time that is not known better than that it is from one to another, both included.
type span struct{ from, to int64 }

func (s span) empty() bool { return s.from > s.to }

func (s span) moved(by int64) span { return span{s.from + by, s.to + by} }

func (s span) with(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }
