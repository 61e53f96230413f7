package statusz

import (
	"fmt"
	"slices"
	"time"
)

// patience is how long a sample waits for the answers of sources.
const patience = 250 * time.Millisecond

// source is a Source that was added to the page.
type source struct {
	id uint64
	Source

	// What follows belongs to the sampling goroutine.
	pending *inquiry // not answered yet
	last    sourceDocument
}

// inquiry is a question to a source.
type inquiry struct {
	asked  time.Time
	answer chan sourceDocument
}

// add makes a source known and returns what makes it unknown again.
func (g *registry) add(s Source) (remove func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return func() {}
	}
	g.ids++
	added := &source{id: g.ids, Source: s}
	g.sources = append(g.sources, added)
	return func() { g.remove(added) }
}

func (g *registry) remove(added *source) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sources = slices.DeleteFunc(g.sources, func(s *source) bool { return s == added })
}

// ask asks all sources at once, each on a goroutine of its own, but not those that still owe an answer. It returns a function that waits
// for the answers, for as long as patience lasts.
func (g *registry) ask(now time.Time) (answers func() []sourceDocument) {
	g.mu.Lock()
	sources := slices.Clone(g.sources)
	g.mu.Unlock()
	if len(sources) == 0 {
		return func() []sourceDocument { return nil }
	}
	for _, s := range sources {
		if s.pending == nil {
			s.pending = &inquiry{asked: now, answer: make(chan sourceDocument, 1)}
			go s.pending.ask(s.Source)
		}
	}
	over := make(chan struct{})
	timer := time.AfterFunc(patience, func() { close(over) })
	return func() []sourceDocument {
		defer timer.Stop()
		documents := make([]sourceDocument, len(sources))
		for i, s := range sources {
			documents[i] = s.await(now, over)
		}
		slices.SortStableFunc(documents, compareSources)
		return documents
	}
}

// ask puts the question. Whatever the source does, there is an answer, unless it never returns.
func (q *inquiry) ask(s Source) {
	doc := failed(s, "ended its goroutine")
	defer func() {
		if r := recover(); r != nil {
			doc = failed(s, fmt.Sprintf("panicked: %v", r))
			doc.Error = clip(doc.Error, 500)
		}
		q.answer <- doc
	}()
	doc = describe(s.Status())
}

// await returns the answer, or what was known before with the complaint that there is none. A source that was late already when this
// sample began is not waited for.
func (s *source) await(now time.Time, over <-chan struct{}) sourceDocument {
	q := s.pending
	if now.After(q.asked) {
		over = closed()
	}
	select {
	case doc := <-q.answer:
		return s.answered(doc)
	case <-over:
	}
	select { // if both were ready, the answer counts
	case doc := <-q.answer:
		return s.answered(doc)
	default:
	}
	doc := s.last
	if doc.Kind == "" {
		doc = failed(s.Source, "")
	}
	doc.id, doc.Level = s.id, Bad.String()
	doc.Error = fmt.Sprintf("has not answered since %s", q.asked.UTC().Format(time.TimeOnly+" MST"))
	return doc
}

func (s *source) answered(doc sourceDocument) sourceDocument {
	s.pending = nil
	doc.id = s.id
	if doc.Error != "" && s.last.Kind != "" {
		doc.Kind, doc.Name = s.last.Kind, s.last.Name
	}
	s.last = doc
	return doc
}

// failed is what is shown of a source that gave no answer.
func failed(s Source, why string) sourceDocument {
	doc := describe(Status{Name: fmt.Sprintf("%T", s), Level: Bad})
	doc.Error = why
	return doc
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
