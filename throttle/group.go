package throttle

import (
	"container/list"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
)

const (
	defaultGroupMax  = 1000
	defaultGroupIdle = 10 * time.Minute

	// groupStripes keeps a member small: there may be a thousand.
	groupStripes = 4
)

// GroupConfig bounds a [Group]. Every zero field means its default.
type GroupConfig struct {
	// Max is how many throttles are kept, at least 1. Default 1000. Beyond it the one that was longest unused goes, with what it has
	// counted: strangers who choose their keys and use more than Max of them between two calls of yours make yours begin anew each time,
	// and so shed nothing.
	Max int
	// Idle is how long an unused throttle is kept, at least 1 s. Default 10 minutes.
	Idle time.Duration
}

// Group keeps one throttle per key: per host, per method, per tenant. Throttles come into being when they are first asked
// for. They are closed when they are too many, and when they have not been used for long: at a later Get, since a group has no
// goroutine. Who keeps such a throttle can go on calling it, and it decides as ever, but its hooks are not told. All of a group bear
// one name, and so are one source of telemetry, however many hosts there are.
type Group struct {
	config func(key string) Config
	max    int
	idle   time.Duration
	base   time.Time

	mu      sync.Mutex
	name    string
	closed  bool
	changes []func(*Tuning) // for those that come later
	members map[string]*list.Element
	byUse   list.List // of *member, the last used first
}

type member struct {
	key      string
	throttle *Throttle
	used     time.Duration
}

// NewGroup returns a group whose throttles are made with the Config that config returns for their key. Every Config must bear the
// same Name.
func NewGroup(config func(key string) Config, c GroupConfig) (*Group, error) {
	c.Max = orDefault(c.Max, defaultGroupMax)
	c.Idle = orDefault(c.Idle, defaultGroupIdle)
	var errs []error
	if config == nil {
		errs = append(errs, errors.New("throttle: NewGroup needs a function that returns a Config"))
	}
	if c.Max < 1 {
		errs = append(errs, fmt.Errorf("throttle: GroupConfig.Max is %d: want at least 1", c.Max))
	}
	if c.Idle < time.Second {
		errs = append(errs, fmt.Errorf("throttle: GroupConfig.Idle is %v: want at least 1s", c.Idle))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Group{config: config, max: c.Max, idle: c.Idle, base: time.Now(), members: map[string]*list.Element{}}, nil
}

// Get returns the throttle of key, making it if there is none. It fails if the key's Config is out of range or names another
// throttle than its siblings do, and after Close.
func (g *Group) Get(key string) (*Throttle, error) {
	t, idle, err := g.find(key)
	closeAll(idle)
	if t != nil || err != nil {
		return t, err
	}
	fresh, err := newThrottle(g.config(key), key, groupStripes) // the user's function and hooks: no lock is held
	if err != nil {
		return nil, fmt.Errorf("throttle: group member %q: %w", key, err)
	}
	for done := 0; ; {
		changes := g.changesFrom(done)
		for _, change := range changes { // the user's functions: no lock is held
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

// changesFrom returns what Tune has changed so far, but for the first few.
func (g *Group) changesFrom(done int) []func(*Tuning) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes[done:]
}

// Tune changes all throttles of the group as [Throttle.Tune] does, and those that come later as well: a kill switch for every host,
// method or tenant. If the outcome is out of range for one of them, none is changed, and the error names that. Change runs once
// per throttle, or more often, and must do the same each time.
//
// The group keeps change as long as it lives: call Tune when something changes, and not at intervals.
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

// all returns the members that the group has now, the last used first. When each was used is known under the lock only.
func (g *Group) all() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	members := make([]*member, 0, len(g.members))
	for e := g.byUse.Front(); e != nil; e = e.Next() {
		members = append(members, e.Value.(*member))
	}
	return members
}

// keep keeps a change for the throttles that come later, and returns those for which it comes too late.
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

// find returns the throttle of key, if there is one, and those to close because nobody has used them for long.
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

// insert keeps fresh under key, unless somebody was faster. It returns the throttle to use, and those to close, or none if
// there have been changes beyond those that fresh has seen.
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
		err = fmt.Errorf("throttle: group member %q: Config.Name is %q: want %q, as for its siblings", key, fresh.name, g.name)
		return nil, []*Throttle{fresh}, err
	}
	now := time.Since(g.base)
	if e, ok := g.members[key]; ok {
		return g.use(e, now), []*Throttle{fresh}, nil
	}
	g.members[key] = g.byUse.PushFront(&member{key: key, throttle: fresh, used: now})
	return fresh, g.shrink(g.max), nil
}

// evict takes out the throttles that have been idle for too long.
func (g *Group) evict(now time.Duration) []*Throttle {
	var idle []*Throttle
	for e := g.byUse.Back(); e != nil && now-e.Value.(*member).used > g.idle; e = g.byUse.Back() {
		idle = append(idle, g.remove(e))
	}
	return idle
}

// shrink takes out the longest unused throttles until no more than size are left.
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

// Lookup returns the throttle of key, and whether the group keeps one. Other than [Group.Get] it makes none, and does not count as use.
func (g *Group) Lookup(key string) (*Throttle, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.members[key]
	if !ok {
		return nil, false
	}
	return e.Value.(*member).throttle, true
}

// All yields each key with its throttle, the last used first, as the group keeps them when the loop begins. It makes none and does not
// count as use, and no lock is held in the loop, which may call the group.
func (g *Group) All() iter.Seq2[string, *Throttle] {
	return func(yield func(string, *Throttle) bool) {
		for _, m := range g.all() {
			if !yield(m.key, m.throttle) {
				return
			}
		}
	}
}

// Len returns the number of throttles that the group keeps.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members)
}

// Close closes the group's throttles, and makes Get fail. It is idempotent, and always returns nil.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	members := g.shrink(0)
	g.mu.Unlock()
	closeAll(members)
	return nil
}

// closeAll closes throttles, whose hooks are told: no lock may be held. A hook that panics does not keep the others open.
func closeAll(throttles []*Throttle) {
	if len(throttles) == 0 {
		return
	}
	defer closeAll(throttles[1:])
	_ = throttles[0].Close() // never fails
}
