package throttle

import (
	"container/list"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

const (
	defaultGroupMax  = 1000
	defaultGroupIdle = 10 * time.Minute

	// groupStripes keeps a member small: a group may have a thousand.
	groupStripes = 4
)

// errNoConfig is the error of NewGroup without a function.
var errNoConfig = errors.New("throttle: NewGroup needs a function that returns a Config")

// GroupConfig limits the size of a [Group]. Every zero field means its default.
type GroupConfig struct {
	// Max is the largest number of throttles, at least 1. Default 1000. Beyond it, the group closes
	// the throttle that was not used for the longest time, and its counts are lost. If untrusted
	// callers choose keys, they can evict yours: a throttle that is evicted between two calls
	// starts empty and never sheds. Use a key that callers cannot choose.
	Max int
	// Idle is how long an unused throttle is kept, at least 1 s. Default 10 minutes.
	Idle time.Duration
}

// Group keeps one throttle per key: per host, per method or per tenant. [Group.Get] creates a
// throttle at the first use of its key. A group has no goroutine: Get closes throttles that are too
// many or idle. A closed throttle still decides, but calls no hooks.
//
// All throttles of a group have the same name, so metrics report them as one source. The key is in
// [Throttle.Key], [ShedError], the log, spans and the status page.
type Group struct {
	config func(key string) Config
	max    int
	idle   time.Duration
	base   time.Time

	mu      sync.Mutex
	name    string
	closed  bool
	changes []func(*Tuning) // applied to later members
	members map[string]*list.Element
	byUse   list.List // of *member, the last used first
}

type member struct {
	key      string
	throttle *Throttle
	used     time.Duration
}

// NewGroup returns a group. It calls config for every new key. All Configs must have the same Name.
func NewGroup(config func(key string) Config, c GroupConfig) (*Group, error) {
	c.Max = check.Default(c.Max, defaultGroupMax)
	c.Idle = check.Default(c.Idle, defaultGroupIdle)
	e := check.Errors{Owner: "throttle: GroupConfig"}
	e.Want(c.Max >= 1, "Max", c.Max, "at least 1")
	e.Want(c.Idle >= time.Second, "Idle", c.Idle, "at least 1s")
	if config == nil {
		e.Add(errNoConfig)
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Group{config: config, max: c.Max, idle: c.Idle, base: time.Now(), members: map[string]*list.Element{}}, nil
}

// Get returns the throttle of key, and creates it if necessary. It returns an error if the Config
// of the key is invalid or has another Name than the other members, and [ErrClosed] after Close.
func (g *Group) Get(key string) (*Throttle, error) {
	t, idle, err := g.find(key)
	closeAll(idle)
	if t != nil || err != nil {
		return t, err
	}
	fresh, err := newThrottle(g.config(key), key, groupStripes) // calls user code: no lock is held
	if err != nil {
		return nil, fmt.Errorf("throttle: group member %q: %w", key, err)
	}
	for done := 0; ; {
		changes := g.changesFrom(done)
		for _, change := range changes { // calls user code: no lock is held
			if err := fresh.Tune(change); err != nil {
				_ = fresh.Close() // never fails
				return nil, fmt.Errorf("throttle: group member %q: %w", key, err)
			}
		}
		done += len(changes)
		t, surplus, err := g.insert(key, fresh, done)
		closeAll(surplus)
		if t != nil || err != nil {
			return t, err
		}
	}
}

// changesFrom returns the changes of Tune, without the first done ones.
func (g *Group) changesFrom(done int) []func(*Tuning) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes[done:]
}

// Tune changes the settings of all throttles of the group, as [Throttle.Tune] does, and of those
// that it creates later. Use it as a kill switch for every host, method or tenant. If the result is
// invalid for one throttle, none is changed and the error names it. Change is called at least once
// per throttle and must return the same each time.
//
// The group keeps change for its lifetime: call Tune when a setting changes, not periodically.
func (g *Group) Tune(change func(*Tuning)) error {
	if change == nil {
		return errNoChange
	}
	for _, m := range g.all() {
		if _, err := m.throttle.propose(m.throttle.tuning.Load(), change); err != nil {
			return err
		}
	}
	members, err := g.keep(change)
	for _, m := range members {
		err = errors.Join(err, m.throttle.Tune(change))
	}
	return err
}

// all returns the members, the last used first. The field used is guarded by the lock.
func (g *Group) all() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	members := make([]*member, 0, len(g.members))
	for e := g.byUse.Front(); e != nil; e = e.Next() {
		members = append(members, e.Value.(*member))
	}
	return members
}

// keep records a change for later throttles, and returns the existing members.
func (g *Group) keep(change func(*Tuning)) ([]*member, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	g.changes = append(g.changes, change)
	g.mu.Unlock()
	return g.all(), nil
}

// find returns the throttle of key, if there is one, and the idle throttles to close.
func (g *Group) find(key string) (t *Throttle, idle []*Throttle, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, ErrClosed
	}
	now := time.Since(g.base)
	idle = g.evict(now)
	e, ok := g.members[key]
	if !ok {
		return nil, idle, nil
	}
	return g.use(e, now), idle, nil
}

// use marks a member as the last used.
func (g *Group) use(e *list.Element, now time.Duration) *Throttle {
	m := e.Value.(*member)
	m.used = now
	g.byUse.MoveToFront(e)
	return m.throttle
}

// insert stores fresh under key, unless another goroutine was first. It returns the throttle to use
// and those to close. It returns nil if Tune was called after the first seen changes.
func (g *Group) insert(key string, fresh *Throttle, seen int) (t *Throttle, surplus []*Throttle, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, []*Throttle{fresh}, ErrClosed
	}
	if seen < len(g.changes) {
		return nil, nil, nil
	}
	if g.name == "" {
		g.name = fresh.name
	}
	if fresh.name != g.name {
		err = fmt.Errorf("throttle: group member %q: Config.Name is %q: want %q, the name of the other members", key, fresh.name, g.name)
		return nil, []*Throttle{fresh}, err
	}
	now := time.Since(g.base)
	if e, ok := g.members[key]; ok {
		return g.use(e, now), []*Throttle{fresh}, nil
	}
	g.members[key] = g.byUse.PushFront(&member{key: key, throttle: fresh, used: now})
	return fresh, g.shrink(g.max), nil
}

// evict removes the idle throttles.
func (g *Group) evict(now time.Duration) []*Throttle {
	var idle []*Throttle
	for e := g.byUse.Back(); e != nil && now-e.Value.(*member).used > g.idle; e = g.byUse.Back() {
		idle = append(idle, g.remove(e))
	}
	return idle
}

// shrink removes the throttles that were not used for the longest time, until size are left.
func (g *Group) shrink(size int) []*Throttle {
	var surplus []*Throttle
	for len(g.members) > size {
		surplus = append(surplus, g.remove(g.byUse.Back()))
	}
	return surplus
}

func (g *Group) remove(e *list.Element) *Throttle {
	m := g.byUse.Remove(e).(*member)
	delete(g.members, m.key)
	return m.throttle
}

// Lookup returns the throttle of key, if the group has one. Unlike [Group.Get] it creates none and
// does not count as use.
func (g *Group) Lookup(key string) (*Throttle, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.members[key]
	if !ok {
		return nil, false
	}
	return e.Value.(*member).throttle, true
}

// All yields each key with its throttle, the last used first. It yields the members that exist when
// the loop begins. It creates none, does not count as use, and holds no lock: the loop may call the
// group.
func (g *Group) All() iter.Seq2[string, *Throttle] {
	return func(yield func(string, *Throttle) bool) {
		for _, m := range g.all() {
			if !yield(m.key, m.throttle) {
				return
			}
		}
	}
}

// Len returns the number of throttles in the group.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members)
}

// Close closes all throttles of the group. Get and Tune then return [ErrClosed]. Close is
// idempotent and always returns nil.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	members := g.shrink(0)
	g.mu.Unlock()
	closeAll(members)
	return nil
}

// closeAll closes throttles. The caller holds no lock, because Close calls hooks. All are closed
// even if a hook panics.
func closeAll(throttles []*Throttle) {
	if len(throttles) == 0 {
		return
	}
	defer closeAll(throttles[1:])
	_ = throttles[0].Close() // never fails
}
