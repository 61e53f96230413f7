package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// Run runs the suite as subtests of t. It calls open once for every case. The storage that open
// opens need not be empty, and other cases and programs may use it: every case uses its own keys.
//
// Each call of the func that open returns opens a handle on that storage, as another process would
// open it. Handles may have their own client or share one; choose what is closer to production. Run
// closes every handle, and some of them twice. If Close does nothing, the func may return the same
// handle again.
//
// Run counts goroutines in its last cases. Other tests of the process must not start or end
// goroutines at that time.
func Run(t *testing.T, open func(t *testing.T) func() store.Store, options ...Option) {
	t.Helper()
	suite(options...).Run(t, open)
}

// Option describes a property of the store.
type Option func(*fixture)

// ClockResolution is the resolution of the store's clock. The default is one microsecond. The clock
// may round up or down, by less than the resolution.
func ClockResolution(step time.Duration) Option {
	return func(r *fixture) { r.resolution = int64(max(1, step)) }
}

type testCase = kit.Case[*fixture]

func suite(options ...Option) kit.Suite[store.Store, *fixture] {
	return kit.Suite[store.Store, *fixture]{
		Groups: groups(),
		New:    func(t kit.T, open func() func() store.Store) *fixture { return newFixture(t, open(), options...) },
	}
}

func groups() []kit.Group[*fixture] {
	return []kit.Group[*fixture]{
		{Name: "take", Cases: takeCases()},
		{Name: "refill", Cases: refillCases()},
		{Name: "retry", Cases: retryCases()},
		{Name: "return", Cases: returnCases()},
		{Name: "reset", Cases: resetCases()},
		{Name: "limit", Cases: limitCases()},
		{Name: "extreme", Cases: extremeCases()},
		{Name: "key", Cases: keyCases()},
		{Name: "race", Cases: raceCases()},
		{Name: "history", Cases: historyCases()},
		{Name: "context", Cases: kit.ContextCases((*fixture).endedContext, canceledMeanwhile)},
		{Name: "handle", Cases: kit.HandleCases(closeLeavesOthers, closeTwice, (*fixture).useAll)},
	}
}

// longest is the longest period of a limit.
const longest = 366 * 24 * time.Hour

// fixture is what a case works with: handles on the storage, and the levels that its buckets can
// have.
type fixture struct {
	kit.Fixture[store.Store]
	resolution int64     // of the store's clock, in nanoseconds
	begun      time.Time // origin of local times
	nonce      string    // part of every key, so that keys are new
	prefix     string    // prefix of failures of step
	// Of buckets that are used by one call at a time, by key: the possible levels, and the operations.
	levels map[string][]level
	past   map[string][]operation
}

func newFixture(t kit.T, open func() store.Store, options ...Option) *fixture {
	r := &fixture{resolution: int64(time.Microsecond), begun: time.Now(), nonce: rand.Text(), levels: map[string][]level{}, past: map[string][]operation{}}
	for _, o := range options {
		o(r)
	}
	r.Fixture = kit.NewFixture(t, withMany(open, r.nonce))
	return r
}

// key returns a key that is new in the storage.
func (r *fixture) key(name string) string { return r.nonce + " " + name }

func (r *fixture) now() int64 { return int64(time.Since(r.begun)) }

// slowLimit returns a limit that adds no tokens while a case runs: a Continuous bucket takes ten
// years to fill.
func slowLimit(capacity int64, a bucket.Algorithm) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: (capacity-1)/10 + 1, Period: longest, Algorithm: a}.WithDefaults()
}

func describe(l bucket.Limit) string {
	return fmt.Sprintf("%v limit, capacity %d, refill %d per %v", l.Algorithm, l.Capacity, l.Refill, l.Period)
}

func eachAlgorithm(run func(r *fixture, a bucket.Algorithm)) func(*fixture) {
	return func(r *fixture) {
		for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
			run(r, a)
		}
	}
}

// do performs an operation and records its result and times. It is safe for concurrent use.
func (r *fixture) do(ctx context.Context, s store.Store, o operation) operation {
	ctx, cancel := context.WithTimeout(ctx, kit.Patience)
	defer cancel()
	o.called = r.now()
	o.decision, o.err = perform(ctx, s, o)
	o.returned = r.now()
	return o
}

func perform(ctx context.Context, s store.Store, o operation) (d bucket.Decision, err error) {
	switch o.kind {
	case take:
		d, err = s.Take(ctx, o.request)
	case giveBack:
		err = s.Return(ctx, o.request.Key, o.request.Limit, o.request.Max)
	case reset:
		err = s.Reset(ctx, o.request.Key)
	}
	return d, err
}

// step performs an operation on a bucket that no other goroutine uses. The answer must be that of
// store.Level at some time during the call.
func (r *fixture) step(s store.Store, o operation) operation {
	r.Helper()
	if err := o.request.Limit.Validate(); err != nil {
		r.Fatalf("the suite used an invalid limit: %v", err)
	}
	o = r.do(r.Context(), s, o)
	if o.err != nil {
		r.Fatalf("%v, key %.40q, %s: got error %v, want none", o, o.request.Key, describe(o.request.Limit), o.err)
	}
	before, known := r.levels[o.request.Key]
	if !known {
		before = []level{full()}
	}
	var next []level
	for _, v := range before {
		next = append(next, v.after(o, r.resolution)...)
	}
	if len(next) == 0 {
		r.Fatalf("%skey %.60q, %s: the answer is not that of store.Level.Take at any time during the call\n%sgot   %v\nwant  %s",
			r.prefix, o.request.Key, describe(o.request.Limit), r.before(o.request.Key), o, before[0].want(o))
	}
	r.levels[o.request.Key] = next
	r.past[o.request.Key] = append(r.past[o.request.Key], o)
	return o
}

// before formats the last operations on a bucket.
func (r *fixture) before(key string) string {
	const most = 4
	past := r.past[key]
	if len(past) == 0 {
		return "this is the first call with this key\n"
	}
	var b strings.Builder
	for _, o := range past[max(0, len(past)-most):] {
		fmt.Fprintf(&b, "after %v\n", o)
	}
	return b.String()
}

func (r *fixture) take(s store.Store, key string, l bucket.Limit, atLeast, atMost int64) operation {
	r.Helper()
	return r.step(s, operation{request: store.Request{Key: key, Limit: l, Min: atLeast, Max: atMost}})
}

func (r *fixture) peek(s store.Store, key string, l bucket.Limit) operation {
	r.Helper()
	return r.take(s, key, l, 0, 0)
}

func (r *fixture) giveBack(s store.Store, key string, l bucket.Limit, n int64) {
	r.Helper()
	r.step(s, operation{kind: giveBack, request: store.Request{Key: key, Limit: l, Max: n}})
}

func (r *fixture) reset(s store.Store, key string) {
	r.Helper()
	r.step(s, operation{kind: reset, request: store.Request{Key: key, Limit: slowLimit(1, bucket.Continuous)}})
}

// expect checks how many tokens were granted and how many are left. More or fewer are left if other
// calls changed the bucket.
func (r *fixture) expect(what string, o operation, granted, remaining int64) {
	r.Helper()
	if d := o.decision; d.Granted != granted || d.Remaining != remaining || d.Allowed != (granted >= o.request.Min) {
		r.Errorf("%s (%s):\ngot  %v\nwant %d granted and %d remaining", what, describe(o.request.Limit), o, granted, remaining)
	}
}

// forget makes step accept any level of the bucket next.
func (r *fixture) forget(key string) { r.levels[key] = []level{unknown()} }

// withMany makes every second Take of a [store.ManyTaker] a TakeMany, so that each case checks both, and
// both at the same time.
func withMany(open func() store.Store, nonce string) func() store.Store {
	if open == nil {
		return nil
	}
	return func() store.Store {
		s := open()
		many, ok := s.(store.ManyTaker)
		if !ok {
			return s
		}
		return &manyStore{Store: s, many: many, beside: nonce + " beside "}
	}
}

// manyStore is a handle that takes tokens in both ways.
type manyStore struct {
	store.Store

	many   store.ManyTaker
	beside string // start of the keys of other buckets
	takes  atomic.Uint64
}

// Take implements [store.Store]. The TakeMany also takes from two other buckets, which may be those of
// another call.
func (s *manyStore) Take(ctx context.Context, r store.Request) (store.Decision, error) {
	n := s.takes.Add(1)
	if n%2 == 1 {
		return s.Store.Take(ctx, r)
	}
	before, after := r, r
	before.Key, after.Key = fmt.Sprint(s.beside, n%3), fmt.Sprint(s.beside, (n+1)%3)
	answers := s.many.TakeMany(ctx, []store.Request{before, r, after})
	if len(answers) != 3 {
		return store.Decision{}, fmt.Errorf("TakeMany returned %d answers to 3 requests", len(answers))
	}
	return answers[1].Decision, answers[1].Err
}
