package main

// subject is something whose cost is measured.
type subject struct {
	group string // the table in which it is reported
	name  string
	op    func() error // one operation; must be safe for concurrent use if pair is set
	pair  bool         // measure it on two processors too
	loose bool         // it hands over to other goroutines, which is dearer for one that owns its thread than it is in a program

	// prepare, if not nil, puts the subject back into its state before each slice, outside the timed part.
	prepare func()
	// good, if not nil, says whether an operation did what the subject's name says, by the error that it returned. Otherwise nil is good.
	good func(error) bool
	// tally, if not nil, returns how many operations of the whole run were good, of how many. Otherwise a few are looked
	// at after each slice.
	tally func() (good, all uint64)
	// least is the share of operations that must be good; 0 stands for all.
	least float64
}

// isGood reports whether an operation that returned err did what it should.
func (s *subject) isGood(err error) bool {
	if s.good == nil {
		return err == nil
	}
	return s.good(err)
}

// wanted is the share of operations that must be good.
func (s *subject) wanted() float64 {
	if s.least == 0 {
		return 1
	}
	return s.least
}

// ready prepares the next slice.
func (s *subject) ready() {
	if s.prepare != nil {
		s.prepare()
	}
}
