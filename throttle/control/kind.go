package control

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// tunable is a throttle, breaker, limiter, backoff or retrier, whose settings are T, and which P changes.
type tunable[T, P any] interface {
	comparable
	Name() string
	Override(throttle.Source, P) error
	Tuning() (inForce, code T)
}

// patch is a change of settings.
type patch interface {
	comparable
	Validate() error
}

// line is a line of a document that changes settings by P: a pointer to a struct of Terms and P.
type line[P any] interface {
	comparable
	terms() *Terms
	patch() P
}

// kind is all throttles, or breakers, buckets, backoffs or retriers. It implements family.
type kind[M tunable[T, P], T tuned.Tuning[T, P], P patch, L line[P]] struct {
	word   string
	lines  func(*Document) *map[string]L
	state  func() *state // the present one
	failed func(error)

	mu        sync.Mutex
	members   map[string][]M // by name; a name that had members once stays
	announced sync.Map       // names whose members are made later
}

func (k *kind[M, T, P, L]) init(word string, state func() *state, failed func(error), lines func(*Document) *map[string]L) {
	k.word, k.state, k.failed, k.lines, k.members = word, state, failed, lines, map[string][]M{}
}

// family is a [kind] without its types.
type family interface {
	// prepare copies the lines of a document that a source has sent, and returns what is wrong with
	// them.
	prepare(d *Document, source throttle.Source, now time.Time) error
	// check returns why the new lines of a source cannot be applied, and its optional names without a
	// member.
	check(before, s *state, source throttle.Source) (missing []string, err error)
	// merge adds lines to a document. A nil line removes one. It returns an error if a nil line has an unknown
	// name: it may be misspelt.
	merge(into, lines *Document) error
	// expire removes the lines whose time has ended.
	expire(d *Document, now time.Time)
	// changes returns the lines of a source that differ.
	changes(before, after *state, source throttle.Source) []Change
	// refresh applies the present state to all members of the name that a change is about, if it is of this kind.
	refresh(c Change)
	// things returns what can be tuned and what is in force.
	things(s *state) []Thing
}

// join adds a new member, and applies the lines of its name. If a document is applied at the same
// time, either it sees the new member, or the new member sees the document.
func (k *kind[M, T, P, L]) join(m M) {
	name := m.Name()
	k.mu.Lock()
	if !slices.Contains(k.members[name], m) { // or it has the hooks twice
		k.members[name] = append(k.members[name], m)
	}
	k.mu.Unlock()
	if len(k.linesOf(k.state(), name)) > 0 {
		k.override(m)
	}
}

// announce makes a name known before its first member.
func (k *kind[M, T, P, L]) announce(name string) { k.announced.Store(name, nil) }

// isKnown reports whether a name had a member, or was announced.
func (k *kind[M, T, P, L]) isKnown(name string, members map[string][]M) bool {
	_, had := members[name]
	_, announced := k.announced.Load(name)
	return had || announced
}

func (k *kind[M, T, P, L]) leave(m M) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.members[m.Name()]
	if i := slices.Index(all, m); i >= 0 {
		k.members[m.Name()] = slices.Delete(all, i, i+1)
	}
}

// override applies the present state to a member. If there is a newer one after that, it applies that
// too, so that the newest state wins, whatever the order of concurrent calls.
func (k *kind[M, T, P, L]) override(m M) {
	name := m.Name()
	var none P
	var err error
	for s := (*state)(nil); s != k.state(); {
		s, err = k.state(), nil
		var patches [throttle.NumSources]P
		for _, l := range k.linesOf(s, name) {
			patches[l.source] = l.line.patch()
		}
		for _, ends := range []bool{true, false} { // what begins need not fit to what ends
			for source := throttle.SourceApply; source < throttle.NumSources; source++ {
				if (patches[source] == none) == ends {
					err = errors.Join(err, set(m, source, patches[source]))
				}
			}
		}
	}
	if err != nil {
		k.failed(fmt.Errorf("control: %s %s: %w", k.word, check.Shown(name), err))
	}
}

// set applies what a source sets to a member. The other sources are applied even if a hook of the member
// or its clock panics.
func set[T, P any, M tunable[T, P]](m M, source throttle.Source, p P) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panicked: %v", value)
		}
	}()
	return m.Override(source, p)
}

type sourced[L any] struct {
	source throttle.Source
	line   L
}

// linesOf returns the lines of a name, that of the highest source last.
func (k *kind[M, T, P, L]) linesOf(s *state, name string) (lines []sourced[L]) {
	for i := range s.layers {
		if l, ok := (*k.lines(&s.layers[i]))[name]; ok {
			lines = append(lines, sourced[L]{throttle.Source(i), l})
		}
	}
	return lines
}

func (k *kind[M, T, P, L]) open() map[string][]M {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make(map[string][]M, len(k.members))
	for name, members := range k.members {
		all[name] = slices.Clone(members)
	}
	return all
}

func (k *kind[M, T, P, L]) refresh(c Change) {
	if c.Kind != k.word {
		return
	}
	for _, m := range k.open()[c.Name] {
		k.override(m)
	}
}
