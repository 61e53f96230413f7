package breaker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	notifiers    = 8   // concurrent calls of Config.Notify
	maxPending   = 100 // events of one circuit
	maxNotifying = 64  // calls of Config.Notify, including those that hang
	minRetry     = time.Second
	maxRetry     = 30 * time.Second
)

var errNotifyHangs = errors.New("breaker: too many calls of Config.Notify have not returned")

// addPending adds the events of an edit to its record until they are notified. After a restart they are
// read from the store and notified again.
func (m *Manager) addPending(edit edit) {
	r := edit.record
	if m.config.Notify == nil || len(edit.events) == 0 {
		return
	}
	pending := slices.Clone(r.pending)
	for _, e := range edit.events {
		if e.To != HalfOpen {
			pending = append(pending, e)
		}
	}
	if over := len(pending) - maxPending; over > 0 {
		m.fail(NotifyFailed, fmt.Errorf("breaker: dropped the %d oldest events of %s: more than %d could not be notified", over, shownKey(r.Key), maxPending))
		pending = pending[over:]
	}
	r.pending = pending
}

// notifyLoop notifies pending events while the manager leads. After an error it waits and repeats.
func (m *Manager) notifyLoop(ctx context.Context) {
	if m.config.Notify == nil {
		return
	}
	for retry := minRetry; ; {
		if !m.leading.Load() || m.notifyOnce(ctx) {
			retry = minRetry
			wait(ctx, m.config.SampleRate, m.notifyWake)
		} else {
			sleep(ctx, retry)
			retry = min(2*retry, maxRetry)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// notifyOnce notifies all pending events. It handles several shards at once, and the events of a
// circuit in order. It reports whether all succeeded. If another goroutine notifies, it returns false:
// that one may not have seen the latest events.
func (m *Manager) notifyOnce(ctx context.Context) bool {
	if m.config.Notify == nil {
		return true
	}
	if m.notifying.Swap(true) {
		return false
	}
	defer m.notifying.Store(false)
	var failed atomic.Bool
	running := make(chan struct{}, notifiers)
	var all sync.WaitGroup
	for i := range m.shards {
		running <- struct{}{}
		all.Go(func() {
			if !m.notifyShard(ctx, m.shards[i].Load()) {
				failed.Store(true)
			}
			<-running
		})
	}
	all.Wait()
	return !failed.Load() && ctx.Err() == nil
}

// notifyShard notifies the pending events of one shard, and removes the notified ones in one write.
func (m *Manager) notifyShard(ctx context.Context, s *shard) bool {
	notified := map[Key][]Event{}
	ok := true
	for k, r := range s.records {
		n := 0
		for n < len(r.pending) && ctx.Err() == nil && m.notify(ctx, r.pending[n]) {
			n++
		}
		ok = ok && n == len(r.pending)
		if n > 0 {
			notified[k] = r.pending[:n]
		}
	}
	if len(notified) == 0 {
		return ok
	}
	// Even if ctx has ended: otherwise the next leader would notify these events again.
	ackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*m.config.StoreTimeout)
	defer cancel()
	return m.acknowledge(ackCtx, s.index, notified) == nil && ok
}

func (m *Manager) notify(ctx context.Context, e Event) bool {
	if m.notifyCalls.Add(1) > maxNotifying {
		m.notifyCalls.Add(-1)
		m.fail(NotifyFailed, errNotifyHangs)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.NotifyTimeout)
	defer cancel()
	_, err := remote.Await(ctx, func(ctx context.Context) (struct{}, error) {
		defer m.notifyCalls.Add(-1) // even after the timeout
		return struct{}{}, m.config.Notify(ctx, e)
	}, nil)
	if err != nil {
		m.fail(NotifyFailed, err)
		return false
	}
	return true
}

func (m *Manager) acknowledge(ctx context.Context, index int, notified map[Key][]Event) error {
	return m.update(ctx, index, 0, func(s *shard) []edit {
		var edits []edit
		for k, events := range notified {
			r := s.records[k]
			if r == nil {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(r.pending), func(e Event) bool {
				return slices.ContainsFunc(events, func(o Event) bool { return o.ID() == e.ID() })
			})
			if len(rest) < len(r.pending) {
				next := *r
				next.pending = rest
				edits = append(edits, edit{key: k, record: &next})
			}
		}
		return edits
	})
}
