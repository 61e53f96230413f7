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
// at most one per SampleRate. With Config.Notify, a change by hand starts the timer too. Without calls
// there is no timer and no goroutine.
//
// On a shared store the timer only reports that Run was never called.
type lazyRounds struct {
	wanted atomic.Bool  // the next call starts the timer
	last   atomic.Int64 // start of the last round, as time since New; 0 if it was not a lazy one
	busy   atomic.Bool  // a round is in progress
	manual atomic.Bool  // Sample was called: the caller makes the rounds
	driven atomic.Bool  // Run, Sample or Refresh was called
	timer  atomic.Pointer[time.Timer]
	open   *atomic.Pointer[Manager] // the manager, nil after Close
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
		m.startTimer(m.config.SampleRate)
	}
}

// startTimer makes a round after d, unless the manager is closed before. It stops an earlier timer, so
// that there is never more than one. The runtime may keep a stopped timer for a while, so the timer does
// not refer to a closed manager.
func (m *Manager) startTimer(d time.Duration) {
	open := m.lazy.open
	last := m.lazy.timer.Swap(time.AfterFunc(d, func() {
		if m := open.Load(); m != nil {
			m.lazyRound()
		}
	}))
	if last != nil {
		last.Stop()
	}
}

func (m *Manager) closed() bool { return m.lazy.open.Load() == nil }

// makesLazyRounds reports whether this manager makes rounds without Run.
func (m *Manager) makesLazyRounds() bool {
	return m.memory != nil && !m.running.Load() && !m.lazy.manual.Load() && !m.closed()
}

// wantRound starts the timer of the next round, unless it is started. Every call calls it, so the
// usual case is one load.
func (m *Manager) wantRound() {
	if m.lazy.wanted.Load() {
		m.planRound()
	}
}

// planRound starts the timer. The next round is one SampleRate after the last one, or after New. If all
// calls are shed until the store is read, it is at once.
func (m *Manager) planRound() {
	switch rate := m.config.SampleRate; {
	case !m.lazy.wanted.CompareAndSwap(true, false):
	case m.memory == nil:
		m.startTimer(notRunningAfter * rate)
	case m.lastRead.Load().stale:
		m.startTimer(0)
	default:
		m.startTimer(time.Duration(m.lazy.last.Load()) + rate - time.Since(m.created))
	}
}

// lazyRound makes one round, or only reads the store if another manager decides. If the round or a
// notification fails, it starts the timer again, unless a call has: there may be no other call.
func (m *Manager) lazyRound() {
	switch {
	case m.memory == nil && !m.lazy.driven.Load():
		m.fail(NotRunning, errNotRunning)
		return
	case !m.makesLazyRounds():
		return
	case m.lazy.busy.Swap(true):
		m.startTimer(m.config.SampleRate)
		return
	}
	m.lazy.last.Store(int64(time.Since(m.created)))
	m.lazy.wanted.Store(true) // a call from now on may be too late for this round
	leads, err := false, error(nil)
	if !m.memory.sampled.Load() {
		leads, err = m.step(m.open)
	}
	if !leads && err == nil {
		err = m.readChanges(m.open)
	}
	m.lazy.busy.Store(false)
	if err != nil || leads && !m.notifyOnce(m.open) {
		m.wantRound()
	}
}

// Sample makes one round without Run, for tests and for programs that schedule rounds themselves.
// It takes the lease if it is free, reads the store, polls, decides, writes, notifies and requests
// probes.
//
// It returns [ErrNotLeading] if another manager leads. The lease stays until it ends, so that the
// next round is this manager's too. Nothing opens before the next Sample. After the first Sample,
// the manager makes no rounds by itself, except in Run.
func (m *Manager) Sample(ctx context.Context) error {
	ctx, err := m.usable(ctx)
	if err != nil {
		return err
	}
	m.lazy.driven.Store(true)
	m.lazy.manual.Store(true)
	m.lazy.last.Store(0)
	if m.memory != nil {
		m.memory.sampled.Store(true)
	}
	leads, err := m.step(ctx)
	switch {
	case err != nil:
		return err
	case !leads:
		return ErrNotLeading
	case !m.running.Load():
		m.notifyOnce(ctx)
		m.prefetch()
		m.askForProbes(ctx)
	}
	return nil
}

// step makes one round without Run, if this manager leads.
func (m *Manager) step(ctx context.Context) (leads bool, err error) {
	t, err := m.campaign(ctx)
	if err != nil || !t.led {
		return false, err
	}
	return true, m.sample(ctx, t.Term)
}
