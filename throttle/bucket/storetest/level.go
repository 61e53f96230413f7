package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// kind is the method that an operation calls.
type kind uint8

const (
	take kind = iota
	giveBack
	reset
)

// operation is one call of a store and its result. Times are nanoseconds of a local clock that
// never steps.
type operation struct {
	kind             kind
	request          store.Request // for giveBack, Max is the number of tokens
	decision         bucket.Decision
	called, returned int64
	begun, ended     int64 // positions of the call and the return in a History; each is unique
	err              error
}

// String describes the request, its times and the answer.
func (o operation) String() string {
	when := fmt.Sprintf("at %v to %v", time.Duration(o.called), time.Duration(o.returned))
	switch o.kind {
	case giveBack:
		return fmt.Sprintf("Return %d %s", o.request.Max, when)
	case reset:
		return "Reset " + when
	}
	return fmt.Sprintf("Take %d to %d %s: %s", o.request.Min, o.request.Max, when, describeDecision(o.decision))
}

func describeDecision(d bucket.Decision) string {
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

// window is the span in which the store may have read its clock.
func (o operation) window(resolution int64) span {
	return span{o.called - resolution, o.returned + resolution}
}

// span is a range in which an unknown time lies. It includes both ends.
type span struct{ from, to int64 }

func (s span) empty() bool { return s.from > s.to }

func (s span) moved(by int64) span { return span{s.from + by, s.to + by} }

func (s span) with(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

// Times before and after all others.
const (
	longAgo = math.MinInt64 / 4
	farAway = math.MaxInt64 / 4
)

// level is the set of [store.Level] values that a bucket may have, in local time, according to its
// answers. An answer gives two exact numbers: the tokens granted, and ResetAfter. Let t be what the
// store's clock read. A Continuous bucket is full at t + ResetAfter. The period of a Fixed bucket
// began at t + ResetAfter - Period. The time t is between the start and the end of the operation,
// so at is a span. Later answers must fit the same level and narrow the span.
//
// After a change of the limit, any level is possible: answers show the state by one limit only.
type level struct {
	at   span
	used int64
	by   bucket.Limit // that wrote it
	any  bool
}

// full is the level of an unused bucket. unknown is any level.
func full() level    { return level{at: span{longAgo, longAgo}} }
func unknown() level { return level{at: span{longAgo, farAway}, used: -1} }

// after returns the levels that are possible after an operation. It returns none if the answer is
// not that of store.Level.
func (v level) after(o operation, resolution int64) []level {
	w := o.window(resolution)
	if o.kind == giveBack && v.by.Capacity > 0 { // tokens of any limit are given back to the one that wrote the level
		o.request.Limit = v.by
	}
	l := o.request.Limit
	fixed := l.Algorithm == bucket.Fixed
	switch {
	case o.kind == reset:
		return []level{full()}
	case o.kind == take && !plausible(o):
		return nil
	case v.any:
		return []level{v}
	case o.kind == giveBack && fixed:
		return v.returnedFixed(o, w)
	case o.kind == giveBack:
		return []level{v.returned(o, w)}
	case v.differs(l):
		return []level{{any: true}}
	case fixed:
		return v.takenFixed(o, w, resolution)
	}
	return v.taken(o, w, resolution)
}

// differs reports whether another limit has written the level.
func (v level) differs(l bucket.Limit) bool {
	if v.by.Capacity == 0 || v.at.from == longAgo && v.at.to == longAgo {
		return false
	}
	return l.Interval() != v.by.Interval() || l.Capacity != v.by.Capacity || l.Algorithm != v.by.Algorithm || l.Algorithm == bucket.Fixed && l.Period != v.by.Period
}

// plausible reports whether the numbers of a decision are in their ranges.
func plausible(o operation) bool {
	d, l := o.decision, o.request.Limit
	return d.Granted >= 0 && d.Granted <= l.Capacity && d.Limit == l.Capacity && d.ResetAfter >= 0 && d.Remaining >= 0
}

// taken returns the possible levels after a Take from a Continuous bucket.
func (v level) taken(o operation, w span, resolution int64) []level {
	l, d := o.request.Limit, o.decision
	took, reset := d.Granted*int64(l.Interval()), int64(d.ResetAfter)
	before := store.Level{At: reset - took, Interval: int64(l.Interval()), Capacity: l.Capacity}
	if reset < took || !agrees(o, before, 0, resolution) {
		return nil
	}
	if reset > took {
		return possible(level{at: v.at.with(w.moved(reset - took)).moved(took), by: l})
	}
	now := w.with(span{v.at.from, w.to}) // the bucket was full
	if now.empty() {
		return nil
	}
	if took == 0 {
		return possible(level{at: v.at.with(span{longAgo, w.to}), used: v.used, by: v.by})
	}
	return possible(level{at: now.moved(took), by: l})
}

// mostAhead is how far a level may be ahead of the time of a call: see refill. The time of a statement is that of
// its begin, and while it waits for a row, others may begin new periods.
const mostAhead = int64(time.Second)

// takenFixed returns the possible levels after a Take from a Fixed bucket, in the same period or in
// a later one.
func (v level) takenFixed(o operation, w span, resolution int64) []level {
	l, d := o.request.Limit, o.decision
	period, reset := int64(l.Period), int64(d.ResetAfter)
	if reset > 2*period+mostAhead {
		return nil
	}
	at := (3 + reset/period) * period // as if the period began then
	now := at + period - reset
	var all []level
	before := v.used
	if before < 0 { // the answer shows it
		before = max(0, l.Capacity-d.Remaining-d.Granted)
	}
	switch same := (store.Level{At: at, Used: before}); {
	case reset == 0 && agrees(o, same, at, resolution): // an unused bucket
		all = append(all, possible(level{at: v.at.with(span{longAgo, w.to}), used: before, by: v.by})...)
	case reset > 0 && agrees(o, same, now, resolution):
		all = append(all, possible(level{at: v.at.with(w.moved(reset - period)), used: before + d.Granted, by: l})...)
	}
	if reset == 0 {
		now = at
	}
	if reset > period || !agrees(o, store.Level{}, now, resolution) { // not in a later period
		return all
	}
	if d.Granted == 0 { // a peek changes nothing
		return append(all, possible(level{at: v.at.with(span{longAgo, w.to - period}), used: v.used, by: v.by})...)
	}
	for _, begun := range v.begun(w.moved(reset-period), period, d.Granted) {
		begun.by = l
		all = append(all, begun)
	}
	return all
}

// begun returns the levels of a period that began in the span, a whole number of periods after the
// level before.
func (v level) begun(in span, period, used int64) []level {
	const most = 4 // more spans would overlap: one span covers them all
	first := max(1, (in.from-v.at.to)/period)
	if v.at.from == longAgo || v.at.from == v.at.to && v.at.to == longAgo || (in.to-v.at.from)/period-first > most {
		return possible(level{at: in.with(span{v.at.from, farAway}), used: used})
	}
	var all []level
	for k := first; v.at.from+k*period <= in.to; k++ {
		all = append(all, possible(level{at: v.at.moved(k * period).with(in), used: used})...)
	}
	return all
}

// returned returns the possible level after a Return to a Continuous bucket. A store may forget a
// full bucket.
func (v level) returned(o operation, w span) level {
	l := o.request.Limit
	interval := int64(l.Interval())
	back := max(0, o.request.Max)
	if v.at.to != farAway {
		back = min(back, max(0, v.at.to-w.from)/interval+1)
	}
	back = min(back, farAway/interval) * interval
	at := span{v.at.from - back, max(w.to, v.at.to-back)}
	if at.from <= w.to {
		at.from = longAgo
	}
	return level{at: at, by: v.by}
}

// returnedFixed returns the possible levels after a Return to a Fixed bucket, in the period of the
// tokens or later.
func (v level) returnedFixed(o operation, w span) []level {
	var all []level
	period := int64(o.request.Limit.Period)
	if v.at.to+period > w.from {
		used := max(0, v.used-max(0, o.request.Max))
		if v.used < 0 {
			used = -1
		}
		all = append(all, level{at: v.at, used: used, by: v.by})
	}
	if v.at.from+period <= w.to {
		all = append(all, v)
	}
	return all
}

// agrees reports whether the decision is that of store.Level. RetryAfter may be rounded up to the
// resolution.
func agrees(o operation, before store.Level, now, resolution int64) bool {
	_, want := before.Take(o.request.Limit, now, o.request.Min, o.request.Max)
	d := o.decision
	if late := int64(d.RetryAfter - want.RetryAfter); want.RetryAfter > 0 && late > 0 && late < resolution {
		d.RetryAfter = want.RetryAfter
	}
	return d == want
}

func possible(v level) []level {
	if v.at.empty() {
		return nil
	}
	return []level{v}
}

// want formats the decisions of store.Level at the start and the end of an operation, for a
// message.
func (v level) want(o operation) string {
	if v.used < 0 || v.at.from == longAgo && v.at.to != longAgo {
		return fmt.Sprintf("a decision that store.Level.Take can return for a capacity of %d", o.request.Limit.Capacity)
	}
	const epoch = int64(2 * longest)
	l, shift := o.request.Limit, int64(0)
	at := store.Level{Used: v.used}
	if v.at.from != longAgo {
		at.At, shift = epoch+v.at.from, epoch
	}
	if l.Algorithm == bucket.Fixed && shift != 0 {
		at.At = epoch - epoch%int64(l.Period)
		shift = at.At - v.at.from
	}
	_, first := at.Take(l, shift+o.called, o.request.Min, o.request.Max)
	_, last := at.Take(l, shift+o.returned, o.request.Min, o.request.Max)
	text := describeDecision(first)
	if last != first {
		text += ",\nor " + time.Duration(o.returned-o.called).String() + " later: " + describeDecision(last)
	}
	return text
}
