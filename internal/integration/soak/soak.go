package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// How often there is trouble: often enough for a short soak to have some of each, and rarely enough for everybody to recover.
const (
	oftenestWish, rarestWish     = time.Second, 5 * time.Second
	oftenestFreeze, rarestFreeze = 4 * time.Second, 20 * time.Second
)

// witness is all who look at a child, and annoy it.
type witness struct {
	child    *child
	scraper  *scraper
	audience *audience
	nuisance *nuisance
	samples  []sample
	wrong    incidents
}

func newWitness(c *child) *witness {
	streams := []string{"/debug/throttle?format=stream"}
	if c.example == storefront {
		streams = append(streams, "/stream")
	}
	return &witness{
		child: c, scraper: &scraper{url: c.url}, audience: &audience{url: c.url}, nuisance: &nuisance{url: c.url, streams: streams},
	}
}

// soak builds and starts the examples, lets them run in trouble, ends them, and returns what was found. It tells on out how far it is.
func soak(ctx context.Context, s settings, out io.Writer) (f findings, err error) {
	folder, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	fmt.Fprintf(out, "soak: builds %s, %s and %s; with the race detector: %v\n", storefront, webhooks, batch, s.race)
	if err := build(ctx, s.race, folder); err != nil {
		return f, err
	}
	var children family
	flags := examples(s)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		c, err := launch(ctx, folder, name, flags[name])
		if err != nil {
			_ = children.leave() // there is something worse to tell
			return f, err
		}
		fmt.Fprintln(out, "soak:", name, "is at", c.url, flags[name])
		children = append(children, c)
	}
	f = watch(ctx, s, children, out)
	f.race = s.race
	for i, err := range children.leave() {
		said := children[i].out.report()
		for _, promise := range said.broken {
			fmt.Fprintln(out, "soak:", children[i].example, "told of a broken promise, which may be up to the machine:", promise)
		}
		f.children[i].end(said, err)
	}
	return f, nil
}

// watch lets the children run until the time is over and there was trouble enough, and returns what was seen of it.
func watch(ctx context.Context, s settings, children family, out io.Writer) findings {
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	t := &trouble{}
	var witnesses []*witness
	for _, c := range children {
		w := newWitness(c)
		witnesses = append(witnesses, w)
		all.Go(func() { w.scraper.run(running) })
		all.Go(func() { w.audience.run(running) })
		all.Go(func() { w.nuisance.run(running) })
		if c.example == storefront {
			all.Go(func() { t.upset(running, c.url, within(s.duration/60, oftenestWish, rarestWish)) })
		}
	}
	all.Go(func() { t.freeze(running, children, within(s.duration/40, oftenestFreeze, rarestFreeze)) })
	begun := time.Now()
	look(running, s, begun, witnesses, out)
	stop()
	all.Wait()
	return findingsOf(time.Since(begun), witnesses, t)
}

func within(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }

// look takes samples until the time is over, and longer if there is a kind of trouble that nobody has seen yet, or until nobody is left.
func look(ctx context.Context, s settings, begun time.Time, witnesses []*witness, out io.Writer) {
	for rest(ctx, s.every) {
		at := time.Since(begun)
		missing := 0
		for _, w := range witnesses {
			w.look(at, out)
			e, _ := w.scraper.read()
			missing += len(unproved(evidenceOf(w.child.example, e)))
			if w.child.over() {
				return // which is wrong, and more would not make it better
			}
		}
		if at >= s.duration && missing == 0 || at >= s.duration+s.patience {
			return
		}
	}
}

// look takes a sample.
func (w *witness) look(at time.Duration, out io.Writer) {
	e, ok := w.scraper.read()
	if !ok {
		return // nothing has been scraped yet, which may be because the child is frozen
	}
	now, err := sampleOf(w.child.cmd.Process.Pid, e)
	w.wrong.note("a sample", err)
	if err != nil {
		return
	}
	now.at = at
	w.samples = append(w.samples, now)
	fmt.Fprintf(out, "%6.0f s  %-10s  RSS %5.1f MiB  heap %5.1f MiB  runtime %5.1f MiB  goroutines %3.0f  series %3.0f  fds %3.0f  calls %.0f\n",
		at.Seconds(), w.child.example, now.rss/mebi, now.heap/mebi, now.sys/mebi, now.goroutines, now.series, now.fds, now.calls)
}
