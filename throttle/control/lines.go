package control

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

func (k *kind[M, T, P, L]) prepare(d *Document, source throttle.Source, now time.Time) error {
	lines := k.lines(d)
	var errs []error
	var none L
	*lines = maps.Clone(*lines)
	for _, name := range slices.Sorted(maps.Keys(*lines)) {
		l, err := (*lines)[name], checkName(name)
		switch {
		case err != nil:
		case l == none && source != throttle.SourceHTTP:
			err = errors.New("line is null: remove it, or set something")
		case l != none:
			l = clone(l)
			(*lines)[name] = l
			err = resolve(l, source, now)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("control: %s %s: %w", k.word, check.Shown(name), err))
		}
	}
	return errors.Join(errs...)
}

// resolve completes the terms of a line that a source has sent, and returns what is wrong with it.
func resolve[P patch, L line[P]](l L, source throttle.Source, now time.Time) error {
	var none P
	err := l.terms().resolve(source, now)
	if err == nil && l.patch() == none {
		err = errors.New("line sets nothing")
	}
	return err
}

func (k *kind[M, T, P, L]) check(before, s *state, source throttle.Source) (missing []string, err error) {
	open := k.open()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(*k.lines(&s.layers[source]))) {
		members, known := open[name], k.isKnown(name, open)
		l := (*k.lines(&s.layers[source]))[name]
		if l == (*k.lines(&before.layers[source]))[name] {
			continue // from before
		}
		if !known && !l.terms().Optional {
			errs = append(errs, fmt.Errorf("control: %s %s: unknown name: want one that exists, or \"optional\": true", k.word, check.Shown(name)))
			continue
		}
		if len(members) == 0 {
			missing = append(missing, k.word+" "+name)
		}
		if err := cmp.Or(l.patch().Validate(), k.checkRanges(s, source, name, members)); err != nil {
			errs = append(errs, fmt.Errorf("control: %s %s: %w", k.word, check.Shown(name), err))
		}
	}
	return missing, errors.Join(errs...)
}

// checkRanges returns an error if a member would refuse the new line of a source, with all or some of the other
// lines of its name: any may end before the others. Lines that a member refuses without the new one are no reason.
func (k *kind[M, T, P, L]) checkRanges(s *state, source throttle.Source, name string, members []M) error {
	lines := k.linesOf(s, name)
	fresh := 1 << slices.IndexFunc(lines, func(l sourced[L]) bool { return l.source == source })
	for _, m := range members {
		_, code := m.Tuning()
		for set := range 1 << len(lines) {
			if err := refusal(code, lines, set); err != nil && refusal(code, lines, set&^fresh) == nil {
				return err
			}
		}
	}
	return nil
}

// refusal returns why settings refuse a set of lines, or nil.
func refusal[T tuned.Tuning[T, P], P patch, L line[P]](u T, lines []sourced[L], set int) (err error) {
	for i, l := range lines {
		if set>>i&1 == 0 {
			continue
		}
		if u, err = u.With(l.line.patch()); err != nil {
			return err
		}
	}
	return nil
}

func (k *kind[M, T, P, L]) merge(into, lines *Document) error {
	all, open := map[string]L{}, k.open()
	maps.Copy(all, *k.lines(into))
	var errs []error
	var none L
	for _, name := range slices.Sorted(maps.Keys(*k.lines(lines))) {
		l := (*k.lines(lines))[name]
		if _, had := all[name]; l == none && !had && !k.isKnown(name, open) {
			errs = append(errs, fmt.Errorf("control: %s %s: unknown name: it has no line that null could end", k.word, check.Shown(name)))
		}
		all[name] = l
	}
	maps.DeleteFunc(all, func(_ string, l L) bool { return l == none })
	*k.lines(into) = all
	return errors.Join(errs...)
}

func (k *kind[M, T, P, L]) expire(d *Document, now time.Time) {
	lines := k.lines(d)
	*lines = maps.Clone(*lines)
	maps.DeleteFunc(*lines, func(_ string, l L) bool { return l.terms().hasEnded(now) })
}

func (k *kind[M, T, P, L]) changes(before, after *state, source throttle.Source) (changes []Change) {
	from, to := *k.lines(&before.layers[source]), *k.lines(&after.layers[source])
	names := map[string]L{}
	maps.Copy(names, from)
	maps.Copy(names, to)
	open := k.open()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := from[name]
		is, has := to[name]
		if had && has && reflect.DeepEqual(was, is) {
			continue
		}
		c := Change{Kind: k.word, Name: name, Source: source, Instances: len(open[name]), Result: Applied}
		if !has {
			is, c.Result = was, Ended
		}
		t := is.terms()
		c.By, c.Reason, c.Until = t.By, t.Reason, t.Until
		if !has && source == throttle.SourceHTTP && after.by != "" && !t.hasEnded(time.Now()) {
			c.By = after.by
		}
		if has {
			c.changed = t.Changed
		}
		c.known = k.isKnown(name, open)
		c.Values = deltas(k.settings(before, name, open[name]), k.settings(after, name, open[name]))
		changes = append(changes, c)
	}
	return changes
}

// settings returns the settings of a name and where each comes from.
func (k *kind[M, T, P, L]) settings(s *state, name string, members []M) (all []Setting) {
	var inForce T
	if len(members) > 0 {
		_, inForce = members[0].Tuning()
		all = valuesOf[P](inForce)
	}
	for _, l := range k.linesOf(s, name) {
		after, err := inForce.With(l.line.patch())
		if err != nil && len(members) > 0 {
			continue // the instance has nothing of it
		}
		inForce = after
		for _, v := range values(l.line.patch()) {
			i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == v.Name })
			if i < 0 {
				i, all = len(all), append(all, Setting{Name: v.Name})
			}
			t := l.line.terms()
			all[i].Value, all[i].Source, all[i].By, all[i].Reason, all[i].Until = v.Value, l.source, t.By, t.Reason, t.Until
		}
	}
	if len(members) > 0 { // a line may have a value that stands for another, such as a refill of 0
		for i, v := range valuesOf[P](inForce) {
			all[i].Value = v.Value
		}
	}
	return all
}

func (k *kind[M, T, P, L]) things(s *state) (things []Thing) {
	open := k.open()
	for i := range s.layers {
		for name := range *k.lines(&s.layers[i]) {
			if _, ok := open[name]; !ok { // an optional name that had no member yet
				open[name] = nil
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if members := open[name]; len(members) > 0 || len(k.linesOf(s, name)) > 0 {
			things = append(things, Thing{Kind: k.word, Name: name, Instances: len(members), Settings: k.settings(s, name, members)})
		}
	}
	return things
}
