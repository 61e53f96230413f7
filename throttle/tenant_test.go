package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop has tenants whose calls go to a backend with a capacity of 1000 calls per second. It says that it is full.
type shop struct {
	*lab
	tokens   float64
	admitted []bool // of each call
}

func newShop(t *testing.T, seed uint64, c Config) *shop { return &shop{lab: newLab(t, seed, c)} }

// call makes a call after a pause, and reports whether it was served.
func (s *shop) call(ctx context.Context, p Priority, pause time.Duration) (served bool, err error) {
	s.now = s.now.Add(pause)
	s.tokens = min(s.tokens+1000*pause.Seconds(), 20)
	admitted := false
	err = s.Do(ctx, p, func(context.Context) error {
		admitted = true
		if s.tokens < 1 {
			return MarkOverloaded(errors.New("full"))
		}
		s.tokens--
		served = true
		return nil
	})
	s.admitted = append(s.admitted, admitted)
	return served, err
}

// share is what the calls of a kind got.
type share struct{ offered, admitted, served float64 }

// crowd plays 99 tenants that together send 0.6 times the capacity, and one that sends 5.4 times as much. A
// share of the calls is of priority High. It returns what the Medium calls of the others and of the greedy one got.
func (s *shop) crowd(seconds int, high float64, key func(tenant int) context.Context) (others, greedy share) {
	contexts := make([]context.Context, 100)
	for i := range contexts {
		contexts[i] = key(i)
	}
	for i := range seconds * 6000 {
		tenant, p := 99, Medium
		if s.dice.Float64() < 0.1 {
			tenant = s.dice.IntN(99)
		}
		if s.dice.Float64() < high {
			p = High
		}
		served, err := s.call(contexts[tenant], p, time.Second/6000)
		if i < seconds*2000 || p == High {
			continue
		}
		to := &others
		if tenant == 99 {
			to = &greedy
		}
		to.offered++
		if !errors.Is(err, ErrShed) {
			to.admitted++
		}
		if served {
			to.served++
		}
	}
	return others, greedy
}

func ofEach(i int) context.Context { return WithTenant(context.Background(), fmt.Sprint("tenant ", i)) }

func ofNone(int) context.Context { return context.Background() }

func TestTenantsGetTheirShare(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		seconds := sized(30, 15)
		without, _ := newShop(t, 1, Config{Policy: policy}).crowd(seconds, 0, ofNone)
		if got := without.served / without.offered; got > 0.25 {
			t.Errorf("without tenants: the others got %.3f, want at most 0.25", got)
		}
		s := newShop(t, 1, Config{Policy: policy})
		others, greedy := s.crowd(seconds, 0, ofEach)
		if got := others.admitted / others.offered; got < 0.99 {
			t.Errorf("of the others' calls %.3f were admitted, want 0.99", got)
		}
		if greedy.served < 0.3*1000*float64(seconds)*2/3 {
			t.Errorf("the greedy one got %.0f calls, want most of what the others leave", greedy.served)
		}
		stats := s.Stats().Priorities[Medium].Tenants
		if stats.Above != 1 || stats.Largest < 0.85 || stats.Shed == 0 {
			t.Errorf("got %+v, want 1 tenant above its share, which has 0.9 of the demand", stats)
		}
	})
}

// TestOneTenantIsNone compares each decision.
func TestOneTenantIsNone(t *testing.T) {
	without, with := newShop(t, 3, Config{}), newShop(t, 3, Config{})
	without.crowd(5, 0.1, ofNone)
	with.crowd(5, 0.1, func(int) context.Context { return ofEach(0) })
	if !slices.Equal(without.admitted, with.admitted) {
		t.Error("one tenant: decisions differ from those without tenants")
	}
}

// TestTenantsOfACalmThrottle must not even make a table.
func TestTenantsOfACalmThrottle(t *testing.T) {
	s := newShop(t, 4, Config{Tenants: Tenants{Weight: func(string) float64 { panic("nothing is shed") }}})
	for i := range 10_000 {
		if served, err := s.call(ofEach(i), Medium, 2*time.Millisecond); !served || err != nil {
			t.Fatalf("call %d: got served %v, error %v", i, served, err)
		}
	}
	if s.tenants.table.Load() != nil {
		t.Error("a calm throttle has a table of tenants")
	}
}

// TestShedError_tenant checks what is said of calls of a tenant that takes too much.
func TestShedError_tenant(t *testing.T) {
	var events []ShedEvent
	s := newShop(t, 5, Config{Hooks: Hooks{Shed: func(_ context.Context, e ShedEvent) { events = append(events, e) }}})
	s.crowd(5, 0, ofEach)
	events = nil
	var last error
	for range 1000 {
		if _, err := s.call(ofEach(99), Medium, time.Second/6000); err != nil && errors.Is(err, ErrShed) {
			last = err
		}
	}
	var shed *ShedError
	if !errors.As(last, &shed) || !shed.Tenant || !strings.Contains(last.Error(), "tenant takes more than its share") {
		t.Errorf("got error %v, want one with Tenant", last)
	}
	if len(events) == 0 || !events[0].Tenant || !strings.Contains(events[0].String(), " tenant") {
		t.Errorf("got events %v, want some with Tenant", events)
	}
}

// TestTenantsOfAHookThatPanics: its calls are counted too.
func TestTenantsOfAHookThatPanics(t *testing.T) {
	var tenants uint64
	armed := false
	s := newShop(t, 5, Config{Hooks: Hooks{Shed: func(_ context.Context, e ShedEvent) {
		if armed && e.Tenant {
			tenants++
			panic("boom")
		}
	}}})
	s.crowd(5, 0, ofEach)
	before := s.Stats().Priorities[Medium].Tenants.Shed
	armed = true
	for range 100 {
		func() {
			defer func() { _ = recover() }()
			_, _ = s.call(ofEach(99), Medium, time.Second/6000)
		}()
	}
	if got := s.Stats().Priorities[Medium].Tenants.Shed - before; got != tenants || got == 0 {
		t.Errorf("%d calls were shed for their tenant, and %d are counted", tenants, got)
	}
}

// TestTenantsOfAProcess sheds for the wait for a processor.
func TestTenantsOfAProcess(t *testing.T) {
	th := Must(New(Config{Name: "shop"}))
	var shed *ShedError
	for i := 0; shed == nil || !shed.Tenant; i++ {
		// While this test waits for a processor, the overload may end, or so much may be shed that all have too much.
		if share := th.local.Load().Share(); share == 0 || share > 0.9 {
			overloaded(t, th, false)
		}
		tenant := 0
		if i%10 == 0 {
			tenant = i
		}
		_, err := th.AdmitLocal(ofEach(tenant), Important) // of which a part is shed
		if errors.As(err, &shed) && (shed.Cause != CauseProcessor || shed.Tenant && tenant > 0) {
			t.Fatalf("got error %v of tenant %d, want one of CauseProcessor, with Tenant for tenant 0 only", err, tenant)
		}
		if i > 10_000_000 {
			t.Fatal("no call was shed for its tenant")
		}
	}
	if th.Stats().Priorities[Important].Tenants.Shed == 0 {
		t.Error("Stats counts no call shed for its tenant")
	}
}

func TestTenantsInParallel(t *testing.T) {
	th := Must(New(Config{Name: "shop", Policy: SRE}))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range sized(20_000, 3000) {
				_ = th.Do(ofEach(i%(g+1)), Priority(i%4), func(context.Context) error {
					if i%3 > 0 {
						return context.DeadlineExceeded
					}
					return nil
				})
				if i%500 == 0 {
					th.Stats()
				}
			}
		})
	}
	all.Wait()
	if th.tenants.table.Load() == nil {
		t.Error("nothing was shed")
	}
}
