package breaker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	maxAttempts    = 10   // of a change, which is decided and written again after a conflict
	maxStoreCalls  = 1024 // in flight, abandoned ones included
	failuresToRest = 3    // store calls in a row that fail before a pause
)

// update changes one shard. It calls decide with the known shard, writes the returned edits and
// reports them. After a conflict it reads the shard and repeats. decide must not change its
// argument.
func (m *Manager) update(ctx context.Context, index int, term uint64, decide func(*shard) []edit) error {
	var err error
	for range maxAttempts {
		known := m.shards[index].Load()
		edits := decide(known)
		if len(edits) == 0 {
			return nil
		}
		var v store.Version
		v, err = m.apply(ctx, store.Batch{Shard: index, Term: term, Expect: known.version}, edits)
		if err == nil {
			m.setShard(known, known.with(edits, v, time.Now()))
			m.reportEdits(edits)
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if _, err := m.reload(ctx, []int{index}); err != nil {
			return err
		}
		m.publishIfChanged()
	}
	return err
}

// apply writes the edits as part of the batch.
func (m *Manager) apply(ctx context.Context, b store.Batch, edits []edit) (store.Version, error) {
	for _, e := range edits {
		change := store.Change{ID: e.id}
		if e.record != nil {
			data, err := e.record.encode()
			if err != nil {
				return store.Version{}, fmt.Errorf("breaker: record of %s: %w", shownKey(e.record.Key), err)
			}
			change.Data = data
		}
		b.Changes = append(b.Changes, change)
	}
	v, err := ask(ctx, m, m.config.Store.Apply, b)
	switch {
	case errors.Is(err, store.ErrConflict):
		m.fail(WriteConflicted, err)
	case errors.Is(err, store.ErrFenced):
		m.fail(WriteFenced, err)
	}
	return v, err
}

// reportEdits counts changes, calls Hooks.Changed and wakes the notifier.
func (m *Manager) reportEdits(edits []edit) {
	for _, e := range edits {
		for _, event := range e.events {
			m.counters.changes[event.To].Add(1)
			if h := m.config.Hooks.Changed; h != nil {
				m.callHook(func() { h(event) })
			}
		}
	}
	if m.config.Notify != nil {
		signal(m.notifyWake)
	}
}

// newGuard returns what protects the manager from a slow store.
func (m *Manager) newGuard() *remote.Guard {
	return remote.NewGuard(remote.Rules{Timeout: m.config.StoreTimeout, Calls: maxStoreCalls, Failures: failuresToRest, Judge: m.judgeStore})
}

// judgeStore reports err to Hooks.Failed if the store failed. ErrConflict and ErrFenced are normal
// answers.
func (m *Manager) judgeStore(err error) remote.Verdict {
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFenced) {
		return remote.Answered
	}
	m.fail(StoreFailed, err)
	return remote.Failed
}

// ask calls a method of the store.
func ask[A, T any](ctx context.Context, m *Manager, method func(context.Context, A) (T, error), argument A) (T, error) {
	return remote.Ask(ctx, m.guard, func(ctx context.Context) (T, error) { return method(ctx, argument) }, nil)
}
