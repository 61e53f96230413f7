package byname

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// counter is a member. Its snapshot is a copy of what it has counted and of its calls in flight.
type counter struct {
	name     string
	calls    atomic.Int64
	inFlight atomic.Int64
	broken   atomic.Bool
}

type counts struct{ calls, inFlight int64 }

// sum is the counters by position, so that a forgotten Clone is found.
type sum []int64

func newRegistry(forget bool) *Registry[*counter, counts, sum, int] {
	made := 0
	return New(Kind[*counter, counts, sum, int]{
		Name: func(c *counter) string { return c.name },
		Data: func(*counter) int { made++; return made },
		Read: func(c *counter) counts {
			if c.broken.Load() {
				panic("boom")
			}
			return counts{c.calls.Load(), c.inFlight.Load()}
		},
		Busy: func(s *counts) bool { return s.inFlight > 0 },
		Add: func(to sum, s *counts, open bool) sum {
			if len(to) == 0 {
				to = sum{0, 0}
			}
			to[0] += s.calls
			if open {
				to[1] += s.inFlight
			}
			return to
		},
		Clone:  slices.Clone[sum],
		Forget: forget,
	})
}

func newCounter(name string, calls, inFlight int64) *counter {
	c := &counter{name: name}
	c.calls.Store(calls)
	c.inFlight.Store(inFlight)
	return c
}

// want fails the test unless the source of a name has this sum. A nil sum means that no member is open.
func want(t *testing.T, r *Registry[*counter, counts, sum, int], name string, want sum) {
	t.Helper()
	got, open, err := r.Of(&counter{name: name}).Read()
	if err != nil || open != (want != nil) || open && !slices.Equal(got, want) {
		t.Errorf("%s: got %v, open %v, error %v want %v", name, got, open, err, want)
	}
}

func TestRegistry_sumsMembersOfOneName(t *testing.T) {
	r := newRegistry(false)
	a, b, other := newCounter("db", 5, 1), newCounter("db", 7, 2), newCounter("other", 1, 0)
	for _, c := range []*counter{a, b, other, a} {
		r.Join(c)
	}
	want(t, r, "db", sum{12, 3})
	want(t, r, "db", sum{12, 3})
	want(t, r, "other", sum{1, 0})
	a.inFlight.Store(0)
	r.Leave(a)
	r.Leave(a)
	r.Leave(&counter{name: "db"})
	want(t, r, "db", sum{12, 2})
	b.inFlight.Store(0)
	r.Leave(b)
	want(t, r, "db", nil)
	r.Join(newCounter("db", 1, 0))
	want(t, r, "db", sum{13, 0})
	names := ""
	for _, s := range r.Sources() {
		names += s.Name + " "
	}
	if names != "db other " || r.Of(other).Data != 2 || r.Of(&counter{name: "unknown"}) != nil {
		t.Errorf("got sources %q, the last with data %d want db and other, 2", names, r.Of(other).Data)
	}
}

func TestRegistry_forgetsNames(t *testing.T) {
	r := newRegistry(true)
	a, b := newCounter("db", 5, 0), newCounter("db", 7, 9)
	r.Join(a)
	r.Join(b)
	before := r.Of(a)
	r.Leave(a)
	want(t, r, "db", sum{12, 9})
	r.Leave(b)
	if r.Of(b) != nil || len(r.Sources()) != 0 || before.lenDraining() != 0 {
		t.Error("got a source whose members have left, want none")
	}
	r.Join(a)
	want(t, r, "db", sum{5, 0})
	if got := r.Of(a).Data; got != 2 {
		t.Errorf("got data %d want new data, 2", got)
	}
}

func TestRegistry_drainsCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(false)
		a, hanging := newCounter("db", 5, 1), newCounter("db", 7, 1)
		r.Join(newCounter("db", 0, 0))
		r.Join(a)
		r.Join(hanging)
		r.Leave(a)
		r.Leave(hanging)
		a.calls.Store(6)
		want(t, r, "db", sum{13, 0})
		a.inFlight.Store(0)
		want(t, r, "db", sum{13, 0})
		s := r.Of(a)
		if s.lenDraining() != 1 {
			t.Errorf("got %d draining want 1", s.lenDraining())
		}
		time.Sleep(DrainTimeout)
		want(t, r, "db", sum{13, 0})
		if s.lenDraining() != 0 {
			t.Errorf("got %d draining after the timeout want 0", s.lenDraining())
		}
	})
}

// TestSource_retiresNothingDuringRead has a closed member count while a Read and retire overlap.
func TestSource_retiresNothingDuringRead(t *testing.T) {
	r := newRegistry(false)
	a := newCounter("db", 5, 0)
	r.Join(newCounter("db", 0, 0))
	r.Join(a)
	s := r.Of(a)
	s.beginRead()
	r.Leave(a)
	if s.lenDraining() != 1 {
		t.Error("a member was retired during a Read")
	}
	s.endRead()
	snapshot, _ := s.snapshot(a)
	reads := s.reads
	want(t, r, "db", sum{5, 0}) // begins a Read after the snapshot, and retires the member
	s.retireOne(closed[*counter]{member: a}, &snapshot, reads)
	want(t, r, "db", sum{5, 0})
	r.Join(a)
	s.draining = append(s.draining, closed[*counter]{member: a})
	s.retireOne(s.draining[0], &snapshot, s.reads-1)
	if s.lenDraining() != 1 {
		t.Error("a member was retired with a snapshot that is older than a Read")
	}
}

func TestSource_leavesOutWhatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(false)
		a := newCounter("db", 5, 0)
		r.Join(newCounter("db", 1, 0))
		r.Join(a)
		a.broken.Store(true)
		for range 2 {
			if _, open, err := r.Of(a).Read(); open || err == nil || !strings.Contains(err.Error(), "boom") {
				t.Errorf("got open %v, error %v want an error that names the panic", open, err)
			}
			r.Leave(a)
		}
		time.Sleep(DrainTimeout)
		want(t, r, "db", sum{1, 0})
	})
}

func TestRegistry_End(t *testing.T) {
	r := newRegistry(false)
	a := newCounter("db", 5, 0)
	r.Join(a)
	left := weak.Make(a)
	r.End()
	r.Leave(a)
	r.Join(a)
	if len(r.Sources()) != 0 || r.Of(a) != nil {
		t.Error("got sources after End want none")
	}
	a = nil
	for range 10 {
		runtime.GC()
	}
	if left.Value() != nil {
		t.Error("a registry that has ended keeps a member")
	}
	runtime.KeepAlive(r)
}

func (s *Source[M, S, R, D]) lenDraining() int {
	_, draining := s.Len()
	return draining
}

// TestRegistry_leavesOfManyThatAreBusy: the time of a Leave does not grow with the members that drain.
func TestRegistry_leavesOfManyThatAreBusy(t *testing.T) {
	reads := 0
	r := New(Kind[*counter, counts, sum, int]{
		Name:  func(c *counter) string { return c.name },
		Data:  func(*counter) int { return 0 },
		Read:  func(*counter) counts { reads++; return counts{} },
		Busy:  func(*counts) bool { return true },
		Add:   func(to sum, _ *counts, _ bool) sum { return to },
		Clone: slices.Clone[sum],
	})
	const members = 1000
	r.Join(newCounter("x", 0, 0))
	for range members {
		c := newCounter("x", 0, 1)
		r.Join(c)
		r.Leave(c)
	}
	if reads > 4*members {
		t.Errorf("got %d reads want at most 4 for each of %d members", reads, members)
	}
}
