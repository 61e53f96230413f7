package main

import (
	"fmt"
	"time"
)

// judgement is what is asked of a soak.
type judgement int

const (
	judgeSound judgement = iota // nobody is wrong, and there was trouble
	judgeAll                    // and nothing has grown
)

// findings are what a soak has found.
type findings struct {
	took            time.Duration
	race            bool // the examples had the race detector
	wishes, freezes int64
	wrong           []string
	children        []finding
}

// finding is what was found of a child.
type finding struct {
	example  string
	samples  []sample
	scrapes  int
	pages    int64
	events   int64
	reopened int64
	annoyed  int64 // scrapes abandoned, and viewers who were slow or mute
	said     report
	evidence []figure
	wrong    []string
	exit     string
}

// findingsOf returns what has been seen.
func findingsOf(took time.Duration, witnesses []*witness, t *trouble) findings {
	f := findings{took: took, wishes: t.wishes.Load(), freezes: t.freezes.Load(), wrong: t.wrong.list()}
	for _, w := range witnesses {
		f.children = append(f.children, findingOf(w))
	}
	return f
}

func findingOf(w *witness) finding {
	e, _ := w.scraper.read()
	f := finding{
		example: w.child.example, samples: w.samples, scrapes: w.scraper.answers, pages: w.audience.pages.Load(), events: w.audience.events.Load(),
		reopened: w.audience.reopened.Load(), annoyed: w.nuisance.abandoned.Load() + w.nuisance.viewers.Load(),
		evidence: evidenceOf(w.child.example, e),
	}
	for _, list := range [][]string{
		w.wrong.list(), w.scraper.wrong.list(), w.audience.wrong.list(), withRest(w.scraper.ledger.falls, w.scraper.ledger.fell),
	} {
		f.wrong = append(f.wrong, list...)
	}
	return f
}

// end adds how a child has ended, and all that it has said.
func (f *finding) end(said report, err error) {
	f.said, f.exit = said, "0"
	if err != nil {
		f.exit = err.Error()
		f.wrong = append(f.wrong, fmt.Sprintf("its end: %v; it said last:\n%s", err, said.end))
	}
}

// complaints returns everything that is wrong, with the name of whom it is wrong with.
func (f *findings) complaints(j judgement) []string {
	all := append([]string(nil), f.wrong...)
	if f.freezes == 0 || f.wishes == 0 {
		all = append(all, fmt.Sprintf("nothing is proved: %d freezes, and the storefront was changed %d times", f.freezes, f.wishes))
	}
	for i := range f.children {
		for _, c := range f.children[i].complaints(j, f.race) {
			all = append(all, f.children[i].example+": "+c)
		}
	}
	return all
}

func (f *finding) complaints(j judgement, race bool) []string {
	all := append(append([]string(nil), f.said.alarms...), f.wrong...)
	all = append(all, unproved(append(f.evidence, figure{"scrapes", float64(f.scrapes)}, figure{"pages", float64(f.pages)},
		figure{"events", float64(f.events)}, figure{"annoyances", float64(f.annoyed)}))...)
	if j == judgeAll {
		all = append(all, grown(f.samples, race)...)
	}
	return all
}
