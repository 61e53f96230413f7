package main

import "cmp"

// subject is an operation whose cost is measured.
type subject struct {
	group string // the table in which it is reported
	name  string
	op    func() error // one operation; must be safe for concurrent use if pair is set
	pair  bool         // measure it on two processors too

	// prepare, if not nil, restores the state of the subject before each slice. It is not timed.
	prepare func()
	// good, if not nil, reports whether an operation that returned this error did what the name of the
	// subject says. Otherwise nil is good.
	good func(error) bool
	// tally, if not nil, returns how many operations of the whole run were good, and how many there
	// were. Otherwise a few operations are checked after each slice.
	tally func() (good, all uint64)
	// least is the share of operations that must be good. 0 means all.
	least float64
}

// isGood reports whether an operation that returned err did what the name of the subject says.
func (s *subject) isGood(err error) bool {
	if s.good == nil {
		return err == nil
	}
	return s.good(err)
}

// wanted returns the share of operations that must be good.
func (s *subject) wanted() float64 { return cmp.Or(s.least, 1) }

func (s *subject) ready() {
	if s.prepare != nil {
		s.prepare()
	}
}
