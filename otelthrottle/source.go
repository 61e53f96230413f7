package otelthrottle

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// longestDrain is how long something closed is kept for the calls that were in flight at its close.
const longestDrain = 10 * time.Minute

// source is all things of one kind and name, which are one source of telemetry. Their counters are added up, and those of closed
// ones are kept: a counter that falls looks like a restart.
type source[M comparable, S, R, L any] struct {
	kind   *kind[M, S, R, L]
	name   string
	labels L

	mu       sync.Mutex
	open     []M
	draining []drain[M] // closed, but with calls in flight
	retired  R          // the totals of the closed ones
	readers  int        // under way
	reads    uint64     // begun, ever
}

// drain is something closed some of whose calls have not ended.
type drain[M any] struct {
	member M
	since  time.Time
}

func (s *source[M, S, R, L]) enter(m M) {
	s.mu.Lock()
	s.open = append(s.open, m)
	s.mu.Unlock()
}

// leave takes what is closed out of its source.
func (s *source[M, S, R, L]) leave(m M) {
	s.mu.Lock()
	if i := slices.Index(s.open, m); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
		s.draining = append(s.draining, drain[M]{m, time.Now()})
	}
	s.mu.Unlock()
	s.retire()
}

// retire lets go of the closed members whose calls have ended, and keeps their totals. It does so only while nobody reads: a
// reader may see a call more, of somebody who uses a closed one still, than there is in the totals that are kept.
func (s *source[M, S, R, L]) retire() {
	s.mu.Lock()
	draining, reads, busy := slices.Clone(s.draining), s.reads, s.readers > 0
	s.mu.Unlock()
	if busy {
		return // the next collection will do it
	}
	for _, d := range draining {
		seen, err := s.see(d.member)
		if (err != nil || s.kind.busy(&seen)) && time.Since(d.since) < longestDrain {
			continue
		}
		s.keep(d.member, &seen, reads)
	}
}

// keep adds the totals of a draining member to those of the retired, unless it is not draining any more or somebody has
// begun to read since.
func (s *source[M, S, R, L]) keep(m M, seen *S, reads uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.draining, func(d drain[M]) bool { return d.member == m })
	if i < 0 || s.reads != reads {
		return
	}
	s.draining = slices.Delete(s.draining, i, i+1)
	s.retired = s.kind.add(s.retired, seen, false)
}

// read returns what the source shows, and whether it shows anything: nothing while none of its members is open. If one of them cannot be
// seen the whole source is not: a sum without it would be a counter that falls.
func (s *source[M, S, R, L]) read() (sum R, shows bool, err error) {
	s.mu.Lock()
	s.readers++
	s.reads++
	open, draining := slices.Clone(s.open), slices.Clone(s.draining)
	sum = s.kind.clone(s.retired)
	s.mu.Unlock()
	defer s.endRead()
	if len(open) == 0 {
		return sum, false, nil
	}
	for _, m := range open {
		seen, err := s.see(m)
		if err != nil {
			return sum, false, err
		}
		sum = s.kind.add(sum, &seen, true)
	}
	for _, d := range draining {
		seen, err := s.see(d.member)
		if err != nil {
			return sum, false, err
		}
		sum = s.kind.add(sum, &seen, false)
	}
	return sum, true, nil
}

// see looks at a member, with no lock held. It may run a user's function, such as a throttle's Config.Now, which must not end the process of
// whoever collects.
func (s *source[M, S, R, L]) see(m M) (seen S, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("otelthrottle: %s %q is left out of this collection, because it panicked: %v", s.kind.noun, s.name, r)
		}
	}()
	return s.kind.look(m), nil
}

func (s *source[M, S, R, L]) endRead() {
	s.mu.Lock()
	s.readers--
	s.mu.Unlock()
}
