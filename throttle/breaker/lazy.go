package breaker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

var errNotRunning = errors.New("breaker: the store is shared and Manager.Run was never called: this process does not see circuits open or close")

// notRunningAfter is how long after the first call a manager on a shared store reports that it was
// never run, in SampleRates.
const notRunningAfter = 2

// lazyRounds makes the rounds of a manager on a [MemoryStore] while Run is not active. The first
// round is one SampleRate after New. After that, a call starts a timer, and the timer makes a round,
// at most one per SampleRate. Without calls there is no timer and no goroutine.
//
// On a shared store the timer only reports that Run was never called.
type lazyRounds struct {
	wanted    atomic.Bool  // the next call starts the timer
	active    atomic.Bool  // the last round was a lazy one
	last      atomic.Int64 // start of the last lazy round, as time since New
	busy      atomic.Bool  // a round is in progress
	notifying atomic.Bool
	manual    atomic.Bool // Sample was called: the caller makes the rounds
	driven    atomic.Bool // Run, Sample or Refresh was called
	timer     atomic.Pointer[time.Timer]
	open      *atomic.Pointer[Manager] // the manager, nil after Close
}

// startLazy starts the timer of the first round, or prepares the first call.
func (m *Manager) startLazy() {
	m.lazy.open = new(atomic.Pointer[Manager])
	m.lazy.open.Store(m)
	switch {
	case m.config.Mode == throttle.ModeOff && m.config.ForTenant == nil:
	case m.memory == nil:
		m.lazy.wanted.Store(true)
	default:
		m.lazy.wanted.Store(m.lastRead.Load().stale) // then the first call starts a round at once
		m.after(m.config.SampleRate, (*Manager).lazyRound)
	}
}

// after calls f after d, unless the manager is closed before. The runtime may keep a stopped timer for
// a while, so the timer does not refer to a closed manager.
func (m *Manager) after(d time.Duration, f func(*Manager)) {
	open := m.lazy.open
	m.lazy.timer.Store(time.AfterFunc(d, func() {
		if m := open.Load(); m != nil {
			f(m)
		}
	}))
}

// makesLazyRounds reports whether this manager makes rounds without Run.
func (m *Manager) makesLazyRounds() bool {
	return m.memory != nil && !m.running.Load() && !m.lazy.manual.Load() && !m.closed.Load()
}

// wantRound starts the timer of the next round, unless it is started. Every call calls it, so the
// usual case is one load.
func (m *Manager) wantRound() {
	if m.lazy.wanted.Load() {
		m.startTimer()
	}
}

func (m *Manager) startTimer() {
	switch {
	case !m.lazy.wanted.CompareAndSwap(true, false):
	case m.makesLazyRounds():
		m.after(m.untilLazyRound(), (*Manager).lazyRound)
	case m.memory == nil && !m.lazy.driven.Load():
		m.after(notRunningAfter*m.config.SampleRate, func(m *Manager) {
			if !m.lazy.driven.Load() {
				m.fail(NotRunning, errNotRunning)
			}
		})
	}
}

// untilLazyRound returns the time until a SampleRate has passed since the last round, or since New.
// If all calls are shed until the store is read, that is at once.
func (m *Manager) untilLazyRound() time.Duration {
	if m.lastRead.Load().stale {
		return 0
	}
	return time.Duration(m.lazy.last.Load()) + m.config.SampleRate - time.Since(m.created)
}

// lazyRound makes one round. If the round or a notification fails, it starts the timer again, because
// there may be no other call.
func (m *Manager) lazyRound() {
	if !m.makesLazyRounds() {
		return
	}
	if m.lazy.busy.Swap(true) {
		m.after(m.config.SampleRate, (*Manager).lazyRound)
		return
	}
	m.lazy.last.Store(int64(time.Since(m.created)))
	m.lazy.wanted.Store(true) // a call from now on may be too late for this round
	leads, err := m.sampleLazily(m.open)
	m.lazy.active.Store(true)
	m.lazy.busy.Store(false)
	if leads && !m.notifyLazily() || err != nil {
		m.after(m.config.SampleRate, (*Manager).lazyRound)
	}
}

// sampleLazily makes one round, or only reads the store if another manager decides. It reports
// whether this manager leads.
func (m *Manager) sampleLazily(ctx context.Context) (leads bool, err error) {
	if !m.memory.sampled.Load() {
		if leads, err = m.step(ctx); leads || err != nil {
			return leads, err
		}
	}
	return false, m.readChanges(ctx)
}

// notifyLazily reports whether no notification is left.
func (m *Manager) notifyLazily() bool {
	if m.lazy.notifying.Swap(true) {
		return true
	}
	defer m.lazy.notifying.Store(false)
	return m.notifyOnce(m.open) || m.closed.Load()
}

// stopLazy stops lazy rounds, because the caller makes rounds with [Manager.Sample].
func (m *Manager) stopLazy() {
	m.lazy.driven.Store(true)
	if m.lazy.manual.Swap(true) {
		return
	}
	m.lazy.active.Store(false)
	if m.memory != nil {
		m.memory.sampled.Store(true)
	}
}
