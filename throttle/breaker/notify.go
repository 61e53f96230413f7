package breaker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	notifiers     = 8   // at work at once
	mostPending   = 100 // of one circuit
	mostNotifying = 64  // with those that do not return
	shortestRetry = time.Second
	longestRetry  = 30 * time.Second
)

var errHanging = errors.New("breaker: too many notifications have not returned")

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
	if over := len(pending) - mostPending; over > 0 {
		m.fail(NotifyFailed, fmt.Errorf("breaker: %d events of %.200s were never notified and are given up: there are more than %d", over, r.key, mostPending))
		pending = pending[over:]
	}
	r.pending = pending
}

// keepNotifying notifies while it leads, whenever there is something, and again after a while if it fails.
func (m *Manager) keepNotifying(ctx context.Context) {
	if m.config.Notify == nil {
		return
	}
	retry := shortestRetry
	for {
		wait := m.config.SampleRate
		switch {
		case !m.leading.Load():
		case m.notifyOnce(ctx):
			retry = shortestRetry
		case !pause(ctx, retry):
			return
		default:
			retry = min(2*retry, longestRetry)
			continue
		}
		if !m.awaitNote(ctx, wait) {
			return
		}
	}
}

// awaitNote waits until there may be something to notify.
func (m *Manager) awaitNote(ctx context.Context, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-m.noted:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// notifyOnce notifies of everything that is pending, circuit by circuit in the order of its events, several circuits at once. It reports
// whether all went well.
func (m *Manager) notifyOnce(ctx context.Context) bool {
	if m.config.Notify == nil {
		return true
	}
	var work []*record
	for i := range m.known {
		for _, r := range m.known[i].Load().records {
			if len(r.pending) > 0 {
				work = append(work, r)
			}
		}
	}
	var mu sync.Mutex
	well := true
	queue := make(chan *record)
	var all sync.WaitGroup
	for range min(notifiers, len(work)) {
		all.Go(func() {
			for r := range queue {
				if !m.notifyOf(ctx, r) {
					mu.Lock()
					well = false
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range work {
		queue <- r
	}
	close(queue)
	all.Wait()
	return well && ctx.Err() == nil
}

// notifyOf notifies of what one circuit has pending, and takes off what was heard.
func (m *Manager) notifyOf(ctx context.Context, r *record) bool {
	heard := 0
	for _, e := range r.pending {
		if ctx.Err() != nil || !m.notify(ctx, e) {
			break
		}
		heard++
	}
	if heard == 0 {
		return false
	}
	acknowledged := m.acknowledge(ctx, r.key, r.pending[:heard]) == nil
	return acknowledged && heard == len(r.pending)
}

// notify calls the notifier.
func (m *Manager) notify(ctx context.Context, e Event) bool {
	if m.notifying.Add(1) > mostNotifying {
		m.notifying.Add(-1)
		m.fail(NotifyFailed, errHanging)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.NotifyTimeout)
	defer cancel()
	_, err := await(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, m.config.Notify(ctx, e) },
		func() { m.notifying.Add(-1) })
	if err != nil {
		m.fail(NotifyFailed, err)
		return false
	}
	m.books.notified.Add(1)
	return true
}

// acknowledge takes events off a record.
func (m *Manager) acknowledge(ctx context.Context, k Key, heard []Event) error {
	id := k.RecordID()
	return m.update(ctx, id.Shard(), 0, func(s *shard) []edit {
		r, ok := s.records[id]
		if !ok {
			return nil
		}
		left := slices.DeleteFunc(slices.Clone(r.pending), func(e Event) bool { return containsEvent(heard, e) })
		if len(left) == len(r.pending) {
			return nil
		}
		next := *r
		next.pending = left
		return []edit{{id: id, record: &next}}
	})
}

func containsEvent(events []Event, e Event) bool {
	return slices.ContainsFunc(events, func(o Event) bool {
		return o.Generation == e.Generation && o.At.UnixMicro() == e.At.UnixMicro() && o.To == e.To
	})
}
