package statusz

import (
	"fmt"
	"slices"
	"time"
)

// pollTimeout is how long a sample waits for the sources.
const pollTimeout = 250 * time.Millisecond

// source is a Source that was added to the page.
type source struct {
	id uint64
	Source

	// The fields below belong to the sampling goroutine.
	pending *poll // in flight; nil if there is none
	last    sourceDocument
}

// poll is one call of Source.Status.
type poll struct {
	started time.Time
	result  chan sourceDocument
}

// add registers s and returns the function that removes it.
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

// poll starts a poll of every source, each on its own goroutine. A source whose previous poll is
// still in flight is not polled again. The returned function waits for the results, at most
// pollTimeout.
func (g *registry) poll(now time.Time) (wait func() []sourceDocument) {
	g.mu.Lock()
	sources := slices.Clone(g.sources)
	g.mu.Unlock()
	if len(sources) == 0 {
		return func() []sourceDocument { return nil }
	}
	for _, s := range sources {
		if s.pending == nil {
			s.pending = &poll{started: now, result: make(chan sourceDocument, 1)}
			go s.pending.run(s.Source)
		}
	}
	timeout := make(chan struct{})
	timer := time.AfterFunc(pollTimeout, func() { close(timeout) })
	return func() []sourceDocument {
		defer timer.Stop()
		documents := make([]sourceDocument, len(sources))
		for i, s := range sources {
			documents[i] = s.await(now, timeout)
		}
		slices.SortStableFunc(documents, compareSources)
		return documents
	}
}

// run calls Status and sends the result. It also sends one if Status panics or ends its goroutine.
func (p *poll) run(s Source) {
	doc := failedSource(s, "ended its goroutine")
	defer func() {
		if r := recover(); r != nil {
			doc = failedSource(s, truncate(fmt.Sprintf("panicked: %v", r), 500))
		}
		p.result <- doc
	}()
	doc = sourceDocumentOf(s.Status())
}

// await returns the result of the pending poll. On timeout it returns the last known status with an
// error. It does not wait for a poll of an earlier sample.
func (s *source) await(now time.Time, timeout <-chan struct{}) sourceDocument {
	p := s.pending
	if now.After(p.started) {
		timeout = closedChannel()
	}
	select {
	case doc := <-p.result:
		return s.receive(doc)
	case <-timeout:
	}
	select { // prefer the result if both are ready
	case doc := <-p.result:
		return s.receive(doc)
	default:
	}
	doc := s.last
	if doc.Kind == "" {
		doc = failedSource(s.Source, "")
	}
	doc.id, doc.Level = s.id, Bad.String()
	doc.Error = fmt.Sprintf("has not returned since %s", p.started.UTC().Format(time.TimeOnly+" MST"))
	return doc
}

// receive completes the pending poll. A failed poll keeps the kind and name of the last good one.
func (s *source) receive(doc sourceDocument) sourceDocument {
	s.pending = nil
	doc.id = s.id
	if doc.Error != "" && s.last.Kind != "" {
		doc.Kind, doc.Name = s.last.Kind, s.last.Name
	}
	s.last = doc
	return doc
}

// failedSource returns the document of a source whose Status failed.
func failedSource(s Source, reason string) sourceDocument {
	doc := sourceDocumentOf(Status{Name: fmt.Sprintf("%T", s), Level: Bad})
	doc.Error = reason
	return doc
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
