package breaker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"

	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	notifiers    = 8   // at work at once
	maxPending   = 100 // of one circuit
	maxNotifying = 64  // with those that do not return
	minRetry     = time.Second
	maxRetry     = 30 * time.Second
)

var errNotifyHangs = errors.New("breaker: too many notifications have not returned")

// addPending leaves events in the record, until they were notified. What is read back is told again after a restart.
func (m *Manager) addPending(r *record, events []Event) {
	if m.config.Notify == nil {
		return
	}
	pending := slices.Clone(r.pending)
	for _, e := range events {
		if e.To != HalfOpen {
			pending = append(pending, e)
		}
	}
	if over := len(pending) - maxPending; over > 0 {
		m.fail(NotifyFailed, fmt.Errorf("breaker: dropped the %d oldest events of %s: more than %d could not be notified", over, shownKey(r.key), maxPending))
		pending = pending[over:]
	}
	r.pending = pending
}

// keepNotifying notifies while it leads, whenever there is something, and again after a while if it fails.
func (m *Manager) notifyLoop(ctx context.Context) {
	if m.config.Notify == nil {
		return
	}
	retry := minRetry
	for {
		wait := m.config.SampleRate
		switch {
		case !m.leading.Load():
		case m.notifyOnce(ctx):
			retry = minRetry
		case !sleep(ctx, retry):
			return
		default:
			retry = min(2*retry, maxRetry)
			continue
		}
		if !m.waitNotify(ctx, wait) {
			return
		}
	}
}

// awaitNote waits until there may be something to notify.
func (m *Manager) waitNotify(ctx context.Context, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-m.notifyWake:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// notifyOnce notifies of everything that is pending, several shards at once, in each circuit in the order of its events. It reports
// whether all went well.
func (m *Manager) notifyOnce(ctx context.Context) bool {
	if m.config.Notify == nil {
		return true
	}
	var failed atomic.Bool
	queue := make(chan *shard)
	var all sync.WaitGroup
	for range notifiers {
		all.Go(func() {
			for s := range queue {
				if !m.notifyShard(ctx, s) {
					failed.Store(true)
				}
			}
		})
	}
	for i := range m.shards {
		if s := m.shards[i].Load(); s.pending() {
			queue <- s
		}
	}
	close(queue)
	all.Wait()
	return !failed.Load() && ctx.Err() == nil
}

// pending reports whether there is anything to notify.
func (known *shard) pending() bool {
	for _, r := range known.records {
		if len(r.pending) > 0 {
			return true
		}
	}
	return false
}

// notifyOf notifies of what the circuits of one shard have pending, and then takes off what was heard, in one write.
func (m *Manager) notifyShard(ctx context.Context, s *shard) bool {
	heard := map[store.RecordID][]Event{}
	well := true
	for id, r := range s.records {
		n := 0
		for n < len(r.pending) && ctx.Err() == nil && m.notify(ctx, r.pending[n]) {
			n++
		}
		well = well && n == len(r.pending)
		if n > 0 {
			heard[id] = r.pending[:n]
		}
	}
	// Also at the end: who was told is not to be told again by the next leader.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*m.config.StoreTimeout)
	defer cancel()
	return m.acknowledge(ending, s.index, heard) == nil && well
}

// notify calls the notifier.
func (m *Manager) notify(ctx context.Context, e Event) bool {
	if m.notifying.Add(1) > maxNotifying {
		m.notifying.Add(-1)
		m.fail(NotifyFailed, errNotifyHangs)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.NotifyTimeout)
	defer cancel()
	_, err := remote.Await(ctx, func(ctx context.Context) (struct{}, error) {
		defer m.notifying.Add(-1) // however late
		return struct{}{}, m.config.Notify(ctx, e)
	}, nil)
	if err != nil {
		m.fail(NotifyFailed, err)
		return false
	}
	m.counters.notified.Add(1)
	return true
}

// acknowledge takes events off the records of a shard.
func (m *Manager) acknowledge(ctx context.Context, index int, heard map[store.RecordID][]Event) error {
	return m.update(ctx, index, 0, func(s *shard) []edit {
		var edits []edit
		for id, events := range heard {
			r, ok := s.records[id]
			if !ok {
				continue
			}
			left := slices.DeleteFunc(slices.Clone(r.pending), func(e Event) bool { return containsEvent(events, e) })
			if len(left) < len(r.pending) {
				next := *r
				next.pending = left
				edits = append(edits, edit{id: id, record: &next})
			}
		}
		return edits
	})
}

func containsEvent(events []Event, e Event) bool {
	return slices.ContainsFunc(events, func(o Event) bool {
		return o.Generation == e.Generation && o.At.UnixMicro() == e.At.UnixMicro() && o.To == e.To
	})
}
