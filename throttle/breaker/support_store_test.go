package breaker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// errNetwork is what a store answers that cannot be reached.
var errNetwork = errors.New("connection reset by peer")

// proxy stands before a store. Its via makes each call, or does not.
type proxy struct {
	via func(ctx context.Context, op string, argument, answer any, call func(context.Context, breakerstore.Store) error) error
}

// through makes a call through a proxy, which gets pointers to the batch, if there is one, and to the answer.
func through[T any](ctx context.Context, p *proxy, op string, argument any, call func(context.Context, breakerstore.Store) (T, error)) (T, error) {
	var answer, none T
	err := p.via(ctx, op, argument, &answer, func(ctx context.Context, s breakerstore.Store) (err error) {
		answer, err = call(ctx, s)
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

func (p *proxy) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	return through(ctx, p, "Campaign", c, func(ctx context.Context, s breakerstore.Store) (breakerstore.Lease, error) { return s.Campaign(ctx, c) })
}

func (p *proxy) Resign(ctx context.Context, l breakerstore.Lease) error {
	_, err := through(ctx, p, "Resign", l, func(ctx context.Context, s breakerstore.Store) (struct{}, error) { return struct{}{}, s.Resign(ctx, l) })
	return err
}

func (p *proxy) Versions(ctx context.Context) (breakerstore.Versions, error) {
	return through(ctx, p, "Versions", nil, func(ctx context.Context, s breakerstore.Store) (breakerstore.Versions, error) { return s.Versions(ctx) })
}

func (p *proxy) Load(ctx context.Context, shards []int) ([]breakerstore.Shard, error) {
	return through(ctx, p, "Load", shards, func(ctx context.Context, s breakerstore.Store) ([]breakerstore.Shard, error) {
		return s.Load(ctx, shards)
	})
}

func (p *proxy) Apply(ctx context.Context, b breakerstore.Batch) (breakerstore.Version, error) {
	return through(ctx, p, "Apply", &b, func(ctx context.Context, s breakerstore.Store) (breakerstore.Version, error) { return s.Apply(ctx, b) })
}

func (p *proxy) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	return through(ctx, p, "Probe", requests, func(ctx context.Context, s breakerstore.Store) ([]breakerstore.ProbeGrant, error) {
		return s.Probe(ctx, requests)
	})
}

func (p *proxy) Close() error { return nil }

// meddler stands before a store and does to its calls what networks, servers and administrators do. It passes no hints on.
type meddler struct {
	proxy

	inner  atomic.Pointer[breakerstore.Store]
	calls  atomic.Int64
	before func(ctx context.Context, op string) error // an error is the answer: the store is not called
	after  func(ctx context.Context, op string) error // an error is the answer, although the store has done it
	batch  func(b *breakerstore.Batch)                // changes what is written
	answer func(pointer any)                          // changes what the store has answered
}

func newMeddler(inner breakerstore.Store) *meddler {
	m := &meddler{}
	m.inner.Store(&inner)
	m.via = m.meddle
	return m
}

// flush empties the store.
func (m *meddler) flush() {
	var empty breakerstore.Store = breaker.NewMemoryStore()
	m.inner.Store(&empty)
}

func (m *meddler) meddle(ctx context.Context, op string, argument, answer any, call func(context.Context, breakerstore.Store) error) error {
	m.calls.Add(1)
	if m.before != nil {
		if err := m.before(ctx, op); err != nil {
			return err
		}
	}
	if b, ok := argument.(*breakerstore.Batch); ok && m.batch != nil {
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
func put(t *testing.T, store breakerstore.Store, k breaker.Key, data string) {
	t.Helper()
	id := k.RecordID()
	v, err := store.Versions(t.Context())
	must(t, err)
	_, err = store.Apply(t.Context(), breakerstore.Batch{
		Shard: id.Shard(), Expect: v.Shards[id.Shard()], Changes: []breakerstore.Change{{ID: id, Data: []byte(data)}},
	})
	must(t, err)
}
