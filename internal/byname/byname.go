// Package byname keeps a registry of members by their name, and adds up the counters of all members
// of one name. A sum does not fall: it includes the counters of members that were closed, unless reading
// one of them panics for ten minutes.
package byname

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// DrainTimeout is how long a source keeps a closed member whose calls have not ended.
const DrainTimeout = 10 * time.Minute

// Kind describes the members of a registry. M is a member, and S a snapshot of one member. R is the
// sum of the members of one name. D is data that is made once for each name.
type Kind[M comparable, S, R, D any] struct {
	// Name returns the name of a member, the same one each time.
	Name func(M) string
	// Data returns the data of a new name, given the first member. The registry's lock is held.
	Data func(M) D
	// Read returns a snapshot of a member. No lock is held, and Read may panic.
	Read func(M) S
	// Busy reports whether a member has calls in flight, which it will count when they end. Nil: it never has.
	Busy func(*S) bool
	// Add adds a snapshot to a sum: the counters, and the present state only if the member is open.
	Add func(sum R, s *S, open bool) R
	// Clone returns a copy of a sum that Add can change. Nil: a copy of the value shares nothing.
	Clone func(R) R
	// Forget drops a name when its last open member leaves. If false, the counters are kept, and
	// the sum resumes from them if the name returns.
	Forget bool
}

// Registry holds the members that are open, by name, and the counters of closed ones. The caller
// sets Kind before the first use. All methods are safe for concurrent use.
type Registry[M comparable, S, R, D any] struct {
	Kind Kind[M, S, R, D]

	open sync.Map // M to *Source

	mu      sync.Mutex // guards the following, and all sources
	ended   bool
	names   map[string]*Source[M, S, R, D]
	sources []*Source[M, S, R, D] // in order of arrival
}

// Source is all members of one name.
type Source[M comparable, S, R, D any] struct {
	Name string
	Data D

	registry *Registry[M, S, R, D]
	open     []M         // in order of arrival
	draining []closed[M] // not in retired yet
	retired  R           // the counters of closed members
	readers  int         // calls of Read in progress
	reads    uint64      // calls of Read that have begun, ever
	busy     int         // members that were draining after the last retire
}

// closed is a closed member.
type closed[M any] struct {
	member M
	since  time.Time
}

// New returns a registry without members.
func New[M comparable, S, R, D any](k Kind[M, S, R, D]) *Registry[M, S, R, D] {
	return &Registry[M, S, R, D]{Kind: k}
}

// Join adds an open member to the source of its name. It ignores a member that has joined already.
func (r *Registry[M, S, R, D]) Join(m M) {
	name := r.Kind.Name(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, joined := r.open.Load(m); joined || r.ended {
		return
	}
	s, ok := r.names[name]
	if !ok {
		s = &Source[M, S, R, D]{Name: name, Data: r.Kind.Data(m), registry: r}
		if r.names == nil {
			r.names = map[string]*Source[M, S, R, D]{}
		}
		r.names[name] = s
		r.sources = append(r.sources, s)
	}
	s.open = append(s.open, m)
	r.open.Store(m, s)
}

// Leave removes a closed member from its source. It ignores a member that has not joined or has
// left.
func (r *Registry[M, S, R, D]) Leave(m M) {
	r.mu.Lock()
	s, joined := r.lookup(m)
	if !joined {
		r.mu.Unlock()
		return
	}
	r.open.Delete(m)
	i := slices.Index(s.open, m)
	s.open = slices.Delete(s.open, i, i+1)
	if r.Kind.Forget && len(s.open) == 0 {
		delete(r.names, s.Name)
		r.sources = slices.DeleteFunc(r.sources, func(other *Source[M, S, R, D]) bool { return other == s })
		s.draining = nil
	} else {
		s.draining = append(s.draining, closed[M]{m, time.Now()})
	}
	due := len(s.draining) > 2*s.busy // so that many that are busy do not make each Leave slow
	r.mu.Unlock()
	if due {
		s.retire()
	}
}

// Of returns the source of a member, without a lock if the member is open. The source of any other
// member is found by its name, and is nil if the registry does not have it.
func (r *Registry[M, S, R, D]) Of(m M) *Source[M, S, R, D] {
	if s, ok := r.lookup(m); ok {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[r.Kind.Name(m)]
}

func (r *Registry[M, S, R, D]) lookup(m M) (*Source[M, S, R, D], bool) {
	s, ok := r.open.Load(m)
	if !ok {
		return nil, false
	}
	return s.(*Source[M, S, R, D]), true
}

// Len returns how many members a source holds: open ones, and closed ones whose calls have not
// ended.
func (s *Source[M, S, R, D]) Len() (open, draining int) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return len(s.open), len(s.draining)
}

// Sources returns all sources, in order of arrival.
func (r *Registry[M, S, R, D]) Sources() []*Source[M, S, R, D] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sources)
}

// End removes all members and sources. Later calls of Join do nothing.
func (r *Registry[M, S, R, D]) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.names, r.sources = nil, nil
	r.open.Clear()
}

// Read returns the sum of all members and whether a member is open. If one is not, there is no sum.
// If Kind.Read panics for a member, Read returns an error: a sum without that member would fall.
func (s *Source[M, S, R, D]) Read() (sum R, open bool, err error) {
	s.retire()
	members, draining, sum := s.beginRead()
	defer s.endRead()
	if len(members) == 0 {
		return sum, false, nil
	}
	for _, m := range members {
		if sum, err = s.add(sum, m, true); err != nil {
			return sum, false, err
		}
	}
	for _, c := range draining {
		if sum, err = s.add(sum, c.member, false); err != nil {
			return sum, false, err
		}
	}
	return sum, true, nil
}

func (s *Source[M, S, R, D]) beginRead() (open []M, draining []closed[M], retired R) {
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	s.readers++
	s.reads++
	if retired = s.retired; r.Kind.Clone != nil {
		retired = r.Kind.Clone(retired)
	}
	return slices.Clone(s.open), slices.Clone(s.draining), retired
}

func (s *Source[M, S, R, D]) endRead() {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	s.readers--
}

func (s *Source[M, S, R, D]) add(sum R, m M, open bool) (R, error) {
	snapshot, err := s.snapshot(m)
	if err != nil {
		return sum, err
	}
	return s.registry.Kind.Add(sum, &snapshot, open), nil
}

// snapshot reads a member. Kind.Read may call a function of the user, such as Config.Now. Its panic
// must not end the goroutine of the reader.
func (s *Source[M, S, R, D]) snapshot(m M) (snapshot S, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the counters panicked: %v", p)
		}
	}()
	return s.registry.Kind.Read(m), nil
}

// retire adds the counters of closed members to the retired ones, if their calls have ended. It
// does nothing while a Read is in progress: a closed member that is still used may count a call
// after the snapshot taken here. If a Read saw that call, the next Read would return less.
func (s *Source[M, S, R, D]) retire() {
	r := s.registry
	r.mu.Lock()
	draining, reads, reading := slices.Clone(s.draining), s.reads, s.readers > 0
	r.mu.Unlock()
	if reading {
		return // a later Read retires them
	}
	for _, c := range draining {
		snapshot, err := s.snapshot(c.member)
		idle := err == nil && (r.Kind.Busy == nil || !r.Kind.Busy(&snapshot))
		if idle || time.Since(c.since) >= DrainTimeout {
			s.retireOne(c, &snapshot, reads)
		}
	}
	r.mu.Lock()
	s.busy = len(s.draining)
	r.mu.Unlock()
}

// retireOne moves one member from draining to retired, unless a Read has begun since reads were
// counted.
func (s *Source[M, S, R, D]) retireOne(c closed[M], snapshot *S, reads uint64) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	i := slices.IndexFunc(s.draining, func(other closed[M]) bool { return other.member == c.member })
	if i < 0 || s.reads != reads {
		return
	}
	s.draining = slices.Delete(s.draining, i, i+1)
	s.retired = s.registry.Kind.Add(s.retired, snapshot, false)
}
