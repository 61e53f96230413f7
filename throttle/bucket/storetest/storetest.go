package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// Run tests a store. Each call of open gives a handle on one and the same storage, as another process would have one: with a client of its own
// or a shared one, whichever is the truer test. Run closes every handle, some of them twice; a store whose Close does nothing may give the same
// handle again. Every case has buckets of its own, so the storage need not be empty, and may be used by others meanwhile.
//
// While Run counts goroutines, at its end, no other test of the same process should start or end any.
func Run(t *testing.T, open func(t *testing.T) store.Store, options ...Option) {
	t.Helper()
	suite(options...).Run(t, func(t *testing.T) func() store.Store {
		return func() store.Store { return open(t) }
	})
}

// Option says what is particular to a store.
type Option func(*fixture)

// ClockResolution is the step in which the store's clock counts, as its documentation says. Default a microsecond. A clock that rounds
// its time, up or down, is off by less than a step.
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
		{Name: "rate", Cases: rateCases()},
		{Name: "history", Cases: historyCases()},
		{Name: "context", Cases: contextCases()},
		{Name: "handle", Cases: handleCases()},
	}
}

// longest is the longest period of a limit.
const longest = 366 * 24 * time.Hour

// rig is what a case works with: handles on the storage, and what it knows of the buckets in it.
type fixture struct {
	kit.Fixture[store.Store]
	resolution int64              // of the store's clock, in nanoseconds
	begun      time.Time          // from which on local times are counted
	nonce      string             // in all keys, so that they are new
	about      string             // what a step that fails is told to be about
	levels     map[string][]level // that a bucket may have, of those that are used one call after the other
}

func newFixture(t kit.T, open func() store.Store, options ...Option) *fixture {
	r := &fixture{resolution: int64(time.Microsecond), begun: time.Now(), nonce: rand.Text(), levels: map[string][]level{}}
	for _, o := range options {
		o(r)
	}
	r.Fixture = kit.NewFixture(t, open)
	return r
}

// key returns a key that nobody has used.
func (r *fixture) key(name string) string { return r.nonce + " " + name }

// now is the local time in nanoseconds.
func (r *fixture) now() int64 { return int64(time.Since(r.begun)) }

// lasting is a limit of which nothing comes back while a case runs: a Continuous bucket takes ten years to fill.
func slowLimit(capacity int64, a bucket.Algorithm) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: (capacity-1)/10 + 1, Period: longest, Algorithm: a}.WithDefaults()
}

// said writes a limit in few words.
func describe(l bucket.Limit) string {
	return fmt.Sprintf("%v limit of %d, %d per %v", l.Algorithm, l.Capacity, l.Refill, l.Period)
}

// eachAlgorithm runs a case for both.
func eachAlgorithm(run func(r *fixture, a bucket.Algorithm)) func(*fixture) {
	return func(r *fixture) {
		for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
			run(r, a)
		}
	}
}

// do calls a store and notes when. It judges nothing, and may be called by many at once.
func (r *fixture) do(ctx context.Context, s store.Store, o operation) operation {
	ctx, cancel := context.WithTimeout(ctx, kit.Patience)
	defer cancel()
	o.called = r.now()
	o.decision, o.err = perform(ctx, s, o)
	o.returned = r.now()
	return o
}

// perform asks a store what an operation says.
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

// step calls a store while nobody else uses the bucket, and wants what store.Level says.
func (r *fixture) step(s store.Store, o operation) operation {
	r.Helper()
	if err := o.request.Limit.Validate(); err != nil {
		r.Fatalf("this case asks for what nobody may: %v", err)
	}
	o = r.do(r.Context(), s, o)
	if o.err != nil {
		r.Fatalf("%v of key %.40q, %s: got error %v, want none", o, o.request.Key, describe(o.request.Limit), o.err)
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
		r.Fatalf("%skey %.60q, %s:\ngot  %v\nwant %s", r.about, o.request.Key, describe(o.request.Limit), o, before[0].want(o))
	}
	r.levels[o.request.Key] = next
	return o
}

// take asks for tokens of a bucket that nobody else uses.
func (r *fixture) take(s store.Store, key string, l bucket.Limit, atLeast, atMost int64) operation {
	r.Helper()
	return r.step(s, operation{request: store.Request{Key: key, Limit: l, Min: atLeast, Max: atMost}})
}

// peek asks for none.
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

// expect wants so many tokens granted, and so many left. Fewer than that can only be for a bucket that was used, and more if some came back.
func (r *fixture) expect(why string, o operation, granted, remaining int64) {
	r.Helper()
	if d := o.decision; d.Granted != granted || d.Remaining != remaining || d.Allowed != (granted >= o.request.Min) {
		r.Errorf("%s: %s: got %v, want %d granted and %d remaining", why, describe(o.request.Limit), o, granted, remaining)
	}
}

// forget makes the rig expect anything of a bucket, after what it cannot reckon with.
func (r *fixture) forget(key string) { r.levels[key] = []level{unknown()} }
