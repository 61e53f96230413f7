package breaker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// scene is a fleet of managers on one store. The first manager acts and all are checked, unless by names
// one.
type scene struct {
	*testing.T

	store  *lossy
	fault  fault
	all    []*breaker.Manager
	by     int // -1 if no manager is named
	counts atomic.Pointer[results]
	stop   func()
}

type step func(*scene)

// scenario is a list of steps.
type scenario struct {
	name   string
	agents int      // 0 is one
	memory bool     // the managers have a memory store, so that they need no Run
	faulty []string // the calls of the store that cut concerns; none are all
	poll   results  // nil is no poll: managers count their own calls
	config breaker.Config
	steps  []step
}

// play plays scenarios, each in a bubble of synctest.
func play(t *testing.T, all ...scenario) {
	t.Helper()
	for _, p := range all {
		bubble(t, p.name, func(t *testing.T) {
			s := &scene{T: t, store: newLossy(), by: -1}
			s.counts.Store(&p.poll)
			s.store.before = func(ctx context.Context, op string) error {
				if len(p.faulty) > 0 && !slices.Contains(p.faulty, op) {
					return nil
				}
				return s.fault.meddle(ctx, op)
			}
			switch {
			case !p.memory:
				p.config.Store = s.store
			case p.agents > 1:
				p.config.Store = breaker.NewMemoryStore()
			}
			if p.poll != nil {
				p.config.Poll = polls(func() results { return *s.counts.Load() })
			}
			s.all = agents(t, max(1, p.agents), p.config)
			for _, do := range p.steps {
				do(s)
			}
			for _, m := range s.all {
				_ = m.Close()
			}
		})
	}
}

func steps(all ...step) []step { return all }

func (s *scene) actor() *breaker.Manager { return s.all[max(0, s.by)] }

// checked returns the managers that are checked.
func (s *scene) checked() []*breaker.Manager {
	if s.by < 0 {
		return s.all
	}
	return s.all[s.by : s.by+1]
}

// by lets one manager make steps.
func by(agent int, all ...step) step {
	return func(s *scene) {
		s.by = agent
		for _, do := range all {
			do(s)
		}
		s.by = -1
	}
}

// times repeats steps.
func times(n int, all ...step) step {
	return func(s *scene) {
		for _, do := range slices.Repeat(all, n) {
			do(s)
		}
	}
}

// wait waits, and lets everything happen that is due by then.
func wait(d time.Duration) step {
	return func(*scene) {
		time.Sleep(d)
		synctest.Wait()
	}
}

func runs(s *scene) { s.stop = running(s, s.checked()...) }

func stopped(s *scene) { s.stop() }

func sampled(s *scene) { sample(s, s.actor()) }

func refreshed(s *scene) {
	for _, m := range s.checked() {
		must(s, m.Refresh(s.Context()))
	}
}

// cut lets the store fail, and mended lets it work again.
func cut(s *scene) { s.fault.set(errNetwork) }

func mended(s *scene) { s.fault.err.Store(nil) }

func flushed(s *scene) { s.store.flush() }

// counted sets the results of polls.
func counted(r results) step { return func(s *scene) { s.counts.Store(&r) } }

// byHand makes changes by hand, as in byHand((*breaker.Manager).Forget, k).
func byHand(change func(*breaker.Manager, context.Context, breaker.Key) error, keys ...breaker.Key) step {
	return func(s *scene) {
		for _, k := range keys {
			must(s, change(s.actor(), s.Context(), k))
		}
	}
}

func disable(keys ...breaker.Key) step { return byHand((*breaker.Manager).Disable, keys...) }

func enable(keys ...breaker.Key) step { return byHand((*breaker.Manager).Enable, keys...) }

// fail makes n calls that fail, or are shed.
func fail(n int, k breaker.Key) step { return func(s *scene) { fails(s, s.actor(), k, n) } }

// each checks circuits by each manager that is checked.
func each(keys []breaker.Key, check func(s *scene, m *breaker.Manager, k breaker.Key, where string)) step {
	return func(s *scene) {
		for _, k := range keys {
			for i, m := range s.checked() {
				check(s, m, k, fmt.Sprintf("manager %d at %v, circuit %v", i, time.Now().Format(time.TimeOnly), k))
			}
		}
	}
}

// sheds wants calls to be shed with an error, or to be let through if it is nil.
func sheds(want error, keys ...breaker.Key) step {
	return each(keys, func(s *scene, m *breaker.Manager, k breaker.Key, where string) {
		wants(s, m.CanExecute(s.Context(), k), want, "%s", where)
	})
}

// is wants circuits to be in a state, with a number of trips.
func is(want breaker.State, trips int, keys ...breaker.Key) step {
	return each(keys, func(s *scene, m *breaker.Manager, k breaker.Key, where string) {
		got := m.Status(k)
		equals(s, got.State, want, "%s: state", where)
		equals(s, got.Trips, trips, "%s: trips", where)
	})
}

// forced wants a circuit to be forced, or not.
func forced(want bool, k breaker.Key) step {
	return each([]breaker.Key{k}, func(s *scene, m *breaker.Manager, k breaker.Key, where string) {
		equals(s, m.Status(k).Forced, want, "%s: forced", where)
	})
}

// reported wants managers to have reported a failure so often.
func reported(want uint64, f breaker.Failure) step {
	return each([]breaker.Key{{}}, func(s *scene, m *breaker.Manager, _ breaker.Key, where string) {
		equals(s, m.Stats().Errors.Of(f), want, "%s: %v reported", where, f)
	})
}

// shows wants some of the statistics of the acting manager.
func shows(what string, holds func(breaker.Stats) bool) step {
	return func(s *scene) {
		if got := s.actor().Stats(); !holds(got) {
			s.Errorf("at %v: got %+v, want it %s", time.Now().Format(time.TimeOnly), got, what)
		}
	}
}

func leads(s breaker.Stats) bool { return s.Leads }

// lossy is a store that loses data, as servers do.
type lossy struct {
	*meddler
	mu      sync.Mutex
	batches []store.Batch
	gone    map[store.RecordID]bool // until they are written again
}

func newLossy() *lossy {
	l := &lossy{meddler: newMeddler(breaker.NewMemoryStore()), gone: map[store.RecordID]bool{}}
	l.batch = func(b *store.Batch) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range b.Changes {
			delete(l.gone, c.ID)
		}
		if len(b.Changes) > 0 {
			l.batches = append(l.batches, *b)
		}
	}
	l.answer = func(pointer any) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if loaded, ok := pointer.(*[]store.Shard); ok {
			for i := range *loaded {
				(*loaded)[i].Records = slices.DeleteFunc((*loaded)[i].Records, func(r store.StoredRecord) bool { return l.gone[r.ID] })
			}
		}
	}
	return l
}

// vanished loses records, while the versions of their shards stay, as when rows of a table are deleted by hand.
func vanished(keys ...breaker.Key) step {
	return func(s *scene) {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		for _, k := range keys {
			s.store.gone[k.RecordID()] = true
		}
	}
}

// failedOver loses the last writes, as a replica does that takes over before it has replicated everything. In a
// bubble no time passes meanwhile: the replica has the same epochs.
func failedOver(lost int) step {
	return func(s *scene) {
		var replica store.Store = breaker.NewMemoryStore()
		s.store.batches = s.store.batches[:len(s.store.batches)-lost]
		for _, b := range s.store.batches {
			v, err := replica.Versions(s.Context())
			must(s, err)
			b.Term, b.Expect = 0, v.Shards[b.Shard]
			_, err = replica.Apply(s.Context(), b)
			must(s, err)
		}
		s.store.inner.Store(&replica)
	}
}
