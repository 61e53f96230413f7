package breaker_test

import (
	"context"
	"errors"
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

var errBoom = errors.New("boom")

func failing(context.Context) error { return errBoom }

func succeeding(context.Context) error { return nil }

// must ends the test if there is an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// wants checks an error; nil wants none.
func wants(t testing.TB, got, want error, when string, args ...any) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", fmt.Sprintf(when, args...), got, want)
	}
}

// equals checks a value.
func equals[T comparable](t testing.TB, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// fails makes n calls that fail, or are shed.
func fails(t testing.TB, m *breaker.Manager, k breaker.Key, n int) {
	t.Helper()
	for range n {
		_ = m.Circuit(k).Do(t.Context(), failing)
	}
}

// results are the counts of a poll. A nil map is a failed poll.
type results map[breaker.Key]breaker.PollResult

// polls makes a poll of a function.
func polls(f func() results) breaker.PollFunc {
	return func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		if r := f(); r != nil {
			return r, nil
		}
		return nil, errBoom
	}
}

// agent makes a manager.
func agent(t testing.TB, c breaker.Config) *breaker.Manager {
	t.Helper()
	if c.Poll == nil && c.Counter == nil { // of a store that is shared, it would be refused
		c.Counter = breaker.NewCounter(max(time.Minute, 2*c.SampleRate, c.ObservabilityWindow))
	}
	if c.Name == "" {
		c.Name = "deliveries"
	}
	m, err := breaker.New(c)
	must(t, err)
	return m
}

// agents makes several managers of the same settings.
func agents(t testing.TB, n int, c breaker.Config) []*breaker.Manager {
	t.Helper()
	all := make([]*breaker.Manager, n)
	for i := range all {
		all[i] = agent(t, c)
	}
	return all
}

// running lets managers run until stop is called, which waits for them, or the test ends.
func running(t testing.TB, managers ...*breaker.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, m := range managers {
		all.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
		})
	}
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	return stop
}

// sample makes one round.
func sample(t testing.TB, m *breaker.Manager) {
	t.Helper()
	must(t, m.Sample(t.Context()))
}

// eventually waits until something holds, for so long at most, and returns how long it took.
func eventually(t testing.TB, atMost time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !holds() {
		if time.Since(begun) > atMost {
			t.Fatalf("after %v: got no sign that %s, want it within %v", time.Since(begun), what, atMost)
		}
		time.Sleep(max(10*time.Millisecond, atMost/1000))
	}
	return time.Since(begun)
}

// inState reports whether the circuit is in the state for all agents.
func inState(k breaker.Key, s breaker.State, all ...*breaker.Manager) func() bool {
	return func() bool {
		for _, m := range all {
			if m.Status(k).State != s {
				return false
			}
		}
		return true
	}
}

// bubble runs a subtest in a bubble of synctest.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// polled is a poll that always returns the same of the circuit "a".
func polled(r breaker.PollResult) breaker.PollFunc {
	return polls(func() results { return results{{ID: "a"}: r} })
}

// failingAll is a poll that finds 20 failures of each of n circuits.
func failingAll(n int) breaker.PollFunc {
	return polls(func() results {
		all := results{}
		for i := range n {
			all[breaker.Key{ID: fmt.Sprint(i)}] = breaker.PollResult{Failures: 20}
		}
		return all
	})
}

// size returns how large a test is: full, raced under the race detector, whose runtime fails on
// hundreds of thousands of goroutines, or short with -short.
func size[T any](full, raced, short T) T {
	switch {
	case testing.Short():
		return short
	case raceEnabled:
		return raced
	}
	return full
}

// keysOfShard returns keys whose records lie in a shard.
func keysOfShard(shard, n int) []breaker.Key {
	var keys []breaker.Key
	for i := 0; len(keys) < n; i++ {
		if k := (breaker.Key{ID: string(rune(i))}); k.RecordID().Shard() == shard {
			keys = append(keys, k)
		}
	}
	return keys
}

// wantCounted checks what a counter has of a key.
func wantCounted(t *testing.T, c *breaker.Counter, k breaker.Key, want string) {
	t.Helper()
	n, err := c.Poll(t.Context(), breaker.PollQuery{})
	must(t, err)
	equals(t, fmt.Sprintf("%v failed, %v succeeded", n[k].Failures, n[k].Successes), want, "%v", k)
}

// stored returns the records of a key's shard.
func stored(t *testing.T, s store.Store, k breaker.Key) []store.StoredRecord {
	t.Helper()
	loaded, err := s.Load(t.Context(), []int{k.RecordID().Shard()})
	must(t, err)
	return loaded[0].Records
}

// circuitsByHand puts one circuit of every kind into a store, and returns their keys by kind.
func circuitsByHand(t *testing.T, store store.Store) map[string]breaker.Key {
	t.Helper()
	keys := map[string]breaker.Key{}
	for _, kind := range []string{"unknown", "open", "disabled", "forced open", "forced closed"} {
		keys[kind] = breaker.Key{ID: kind}
	}
	poll := polls(func() results { return results{keys["open"]: {Failures: 20}} })
	hand := agent(t, breaker.Config{Store: store, Poll: poll, BreakerTimeout: 10 * time.Minute})
	ctx := t.Context()
	must(t, hand.Sample(ctx), hand.Disable(ctx, keys["disabled"]), hand.ForceOpen(ctx, keys["forced open"]), hand.ForceClose(ctx, keys["forced closed"]))
	return keys
}

// errNetwork is what a store answers that cannot be reached.
var errNetwork = errors.New("connection reset by peer")

// proxy stands before a store. Its via makes each call, or does not.
type proxy struct {
	via func(ctx context.Context, op string, argument, answer any, call func(context.Context, store.Store) error) error
}

// through makes a call through a proxy, which gets pointers to the batch, if there is one, and to the answer.
func through[T any](ctx context.Context, p *proxy, op string, argument any, call func(context.Context, store.Store) (T, error)) (T, error) {
	var answer, none T
	err := p.via(ctx, op, argument, &answer, func(ctx context.Context, s store.Store) (err error) {
		answer, err = call(ctx, s)
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

func (p *proxy) Campaign(ctx context.Context, c store.Candidate) (store.Lease, error) {
	return through(ctx, p, "Campaign", c, func(ctx context.Context, s store.Store) (store.Lease, error) { return s.Campaign(ctx, c) })
}

func (p *proxy) Resign(ctx context.Context, l store.Lease) error {
	_, err := through(ctx, p, "Resign", l, func(ctx context.Context, s store.Store) (struct{}, error) { return struct{}{}, s.Resign(ctx, l) })
	return err
}

func (p *proxy) Versions(ctx context.Context) (store.Versions, error) {
	return through(ctx, p, "Versions", nil, func(ctx context.Context, s store.Store) (store.Versions, error) { return s.Versions(ctx) })
}

func (p *proxy) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	return through(ctx, p, "Load", shards, func(ctx context.Context, s store.Store) ([]store.Shard, error) {
		return s.Load(ctx, shards)
	})
}

func (p *proxy) Apply(ctx context.Context, b store.Batch) (store.Version, error) {
	return through(ctx, p, "Apply", &b, func(ctx context.Context, s store.Store) (store.Version, error) { return s.Apply(ctx, b) })
}

func (p *proxy) Probe(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
	return through(ctx, p, "Probe", requests, func(ctx context.Context, s store.Store) ([]store.ProbeGrant, error) {
		return s.Probe(ctx, requests)
	})
}

func (p *proxy) Close() error { return nil }

// meddler stands before a store and does to its calls what networks, servers and administrators do. It passes no hints on.
type meddler struct {
	proxy

	inner  atomic.Pointer[store.Store]
	calls  atomic.Int64
	before func(ctx context.Context, op string) error // an error is the answer: the store is not called
	after  func(ctx context.Context, op string) error // an error is the answer, although the store has done it
	batch  func(b *store.Batch)                       // changes what is written
	answer func(pointer any)                          // changes what the store has answered
}

func newMeddler(inner store.Store) *meddler {
	m := &meddler{}
	m.inner.Store(&inner)
	m.via = m.meddle
	return m
}

// flush empties the store.
func (m *meddler) flush() {
	var empty store.Store = breaker.NewMemoryStore()
	m.inner.Store(&empty)
}

func (m *meddler) meddle(ctx context.Context, op string, argument, answer any, call func(context.Context, store.Store) error) error {
	m.calls.Add(1)
	if m.before != nil {
		if err := m.before(ctx, op); err != nil {
			return err
		}
	}
	if b, ok := argument.(*store.Batch); ok && m.batch != nil {
		m.batch(b)
	}
	err := call(ctx, *m.inner.Load())
	if m.answer != nil {
		m.answer(answer)
	}
	if m.after != nil {
		if lost := m.after(ctx, op); lost != nil {
			return lost
		}
	}
	return err
}

// only makes a fault of some calls: all that are not named go on.
func only(fault func(ctx context.Context) error, ops ...string) func(context.Context, string) error {
	return func(ctx context.Context, op string) error {
		if slices.Contains(ops, op) {
			return fault(ctx)
		}
		return nil
	}
}

// fault is what is wrong with a store: while it is frozen it does not answer and heeds no context, as
// behind a socket without a deadline. After that it answers with the error, if there is one.
type fault struct {
	frozen atomic.Bool
	err    atomic.Pointer[error]
}

func (f *fault) set(err error) { f.err.Store(&err) }

func (f *fault) meddle(context.Context, string) error {
	for f.frozen.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// thaw lets everything go on that hangs, and waits for it.
func (f *fault) thaw() {
	f.frozen.Store(false)
	time.Sleep(20 * time.Millisecond)
}

// put writes a record as it is.
func put(t *testing.T, to store.Store, k breaker.Key, data string) {
	t.Helper()
	id := k.RecordID()
	v, err := to.Versions(t.Context())
	must(t, err)
	_, err = to.Apply(t.Context(), store.Batch{
		Shard: id.Shard(), Expect: v.Shards[id.Shard()], Changes: []store.Change{{ID: id, Data: []byte(data)}},
	})
	must(t, err)
}
