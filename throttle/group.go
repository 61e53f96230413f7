package throttle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/lru"
)

const (
	defaultGroupMax  = 1000
	defaultGroupIdle = 10 * time.Minute

	// groupStripes keeps a member small: a group may have a thousand.
	groupStripes = 4
)

// errNoConfig is the error of NewGroup without a function.
var errNoConfig = errors.New("throttle: NewGroup needs a function that returns a Config")

// errNoGroup is the error of Get and Tune of a nil or zero Group.
var errNoGroup = errors.New("throttle: nil or zero Group: make one with NewGroup")

// GroupConfig limits the size of a [Group]. Every zero field means its default.
type GroupConfig struct {
	// Max is the largest number of throttles, at least 1. Default 1000. Beyond it, the group closes
	// the throttle that was not used for the longest time, and its counts are lost. If untrusted
	// callers choose keys, they can evict yours: a throttle that is evicted between two calls
	// starts empty and never sheds. Use a key that callers cannot choose.
	//
	// The group never has more than Max throttles. Each [Group.Get] is a use. Which of two uses was
	// later is exact to one tick of the clock. A use during an eviction may be too late for it.
	Max int
	// Idle is how long an unused throttle is kept, at least 1 s. Default 10 minutes. The next Get
	// of any key closes the throttles that were not used for longer.
	Idle time.Duration
}

// Group keeps one throttle per key: per host, per method or per tenant. [Group.Get] creates a
// throttle at the first use of its key. A group has no goroutine: Get closes throttles that are too
// many or idle. A closed throttle still decides, but calls no hooks.
//
// Get of a key that has a throttle takes no lock, and calls on different processors do not wait for
// each other. So a Get may return a throttle that another goroutine evicts at the same time.
//
// All throttles of a group have the same name, so metrics report them as one source. The key is in
// [Throttle.Key], [ShedError], the log, spans and the status page.
//
// Get and Tune of a nil or zero Group return an error. It has no throttles.
type Group struct {
	config  func(key string) Config
	members *lru.Map[*Throttle] // changed with the lock mu

	tuning sync.Mutex            // held by tune: all members get all changes in the same order
	patch  atomic.Pointer[Patch] // all changes of Tune, stored with the lock mu; nil before the first

	mu     sync.Mutex
	name   string
	closed bool
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
	return &Group{config: config, members: lru.New[*Throttle](c.Max, c.Idle)}, nil
}

func (g *Group) valid() bool { return g != nil && g.members != nil }

// Get returns the throttle of key, and creates it if necessary. It returns an error if the Config
// of the key is invalid or has another Name than the other members, and [ErrClosed] after Close.
func (g *Group) Get(key string) (*Throttle, error) {
	if !g.valid() {
		return nil, errNoGroup
	}
	if t, ok := g.members.Get(key); ok {
		return t, nil
	}
	t, idle, err := g.removeIdle(key)
	closeAll(idle)
	if t != nil || err != nil {
		return t, err
	}
	return g.create(key)
}

// removeIdle removes the idle throttles. It returns them, and the throttle of key if there is one.
func (g *Group) removeIdle(key string) (t *Throttle, idle []*Throttle, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, ErrClosed
	}
	idle = g.members.RemoveIdle()
	t, _ = g.members.Use(key)
	return t, idle, nil
}

// create returns a new throttle for key, or that of another goroutine which was faster.
func (g *Group) create(key string) (*Throttle, error) {
	fresh, err := newThrottle(g.config(key), key, groupStripes) // calls user code: no lock is held
	if err != nil {
		return nil, fmt.Errorf("throttle: group member %q: %w", key, err)
	}
	var tuned *Patch
	for {
		if p := g.patch.Load(); p != tuned {
			_ = fresh.Tune(*p) // Group.Tune has checked it
			tuned = p
		}
		t, surplus, err := g.insert(key, fresh, tuned)
		closeAll(surplus)
		if t != nil || err != nil {
			return t, err
		}
	}
}

// insert stores fresh under key, unless another goroutine was first. It returns the throttle to use
// and those to close. It returns nil if tuned is not the newest patch.
func (g *Group) insert(key string, fresh *Throttle, tuned *Patch) (t *Throttle, surplus []*Throttle, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, []*Throttle{fresh}, ErrClosed
	}
	if tuned != g.patch.Load() {
		return nil, nil, nil
	}
	if g.name == "" {
		g.name = fresh.name
	}
	if fresh.name != g.name {
		err = fmt.Errorf("throttle: group member %q: Config.Name is %q: want %q, the name of the other members", key, fresh.name, g.name)
		return nil, []*Throttle{fresh}, err
	}
	if t, ok := g.members.Use(key); ok {
		return t, []*Throttle{fresh}, nil
	}
	return fresh, g.members.Put(key, fresh), nil
}

// Tune changes the settings of all throttles of the group, as [Throttle.Tune] does, and of those
// that it creates later. Use it as a kill switch for every host, method or tenant. If a value is out
// of range, it changes none and returns the error of [Patch.Validate].
func (g *Group) Tune(p Patch) error {
	if !g.valid() {
		return errNoGroup
	}
	if err := p.Validate(); err != nil {
		return err
	}
	members, err := g.tune(p)
	for _, t := range members { // without the lock: a hook may tune the group
		t.reportPolicy(context.Background())
	}
	return err
}

// tune applies a valid patch to all members, and returns them.
func (g *Group) tune(p Patch) ([]*Throttle, error) {
	g.tuning.Lock()
	defer g.tuning.Unlock()
	members, err := g.record(p)
	for _, t := range members {
		err = errors.Join(err, t.change(func() error { return t.tuning.Tune(p) }))
	}
	return members, err
}

// record keeps a patch for later throttles, and returns the existing members.
func (g *Group) record(p Patch) ([]*Throttle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	var before Patch
	if all := g.patch.Load(); all != nil {
		before = *all
	}
	g.patch.Store(new(before.then(p)))
	return g.members.Values(), nil
}

// Lookup returns the throttle of key, if the group has one. Unlike [Group.Get] it creates none and
// does not count as use.
func (g *Group) Lookup(key string) (*Throttle, bool) {
	if !g.valid() {
		return nil, false
	}
	return g.members.Find(key)
}

// All yields each key with its throttle, the last used first. It yields the members that exist when
// the loop begins. It creates none, does not count as use, and holds no lock: the loop may call the
// group.
func (g *Group) All() iter.Seq2[string, *Throttle] {
	return func(yield func(string, *Throttle) bool) {
		for _, t := range g.all() {
			if !yield(t.key, t) {
				return
			}
		}
	}
}

func (g *Group) all() []*Throttle {
	if !g.valid() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members.Values()
}

// Len returns the number of throttles in the group.
func (g *Group) Len() int {
	if !g.valid() {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members.Len()
}

// Close closes all throttles of the group. Get and Tune then return [ErrClosed]. Close is
// idempotent and always returns nil.
func (g *Group) Close() error {
	if !g.valid() {
		return nil
	}
	g.mu.Lock()
	g.closed = true
	members := g.members.Clear()
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
