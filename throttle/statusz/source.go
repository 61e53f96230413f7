package statusz

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Source is anything besides a throttle that the page shows: a circuit breaker, a token bucket, a
// backoff, a retrier or a Control. Package statusz/sources has these.
type Source interface {
	// Status returns the current status. The page calls it about once per second while the page is in
	// use, with no lock held, and not again before it has returned. If Status panics or does not
	// return within 250 ms, the page shows that and goes on. A call that never returns leaks its
	// goroutine.
	Status() Status
}

// SourceFunc makes a function a [Source].
type SourceFunc func() Status

// Status calls f.
func (f SourceFunc) Status() Status { return f() }

// Status is the status of a [Source] at one instant.
type Status struct {
	// Kind is the type of the source in one word: "breaker", "bucket", "backoff". Default "source".
	Kind string
	// Name identifies the source among those of its kind.
	Name string
	// State is the state in one or a few words: "closed", "open", "half_open", "waiting".
	State string
	// Level rates the state. The page colours the state by it. Default OK.
	Level Level
	// Figures are the numbers to show, most important first. The page shows the first 24.
	Figures []Figure
	// Transitions are the latest changes of state, newest last. The page shows the last 10.
	Transitions []Transition

	_ struct{} // keyed literals only: fields will be added
}

// Figure is a named number. A value that is NaN or infinite shows as missing.
type Figure struct {
	Name  string  // "tokens left"
	Value float64 // 12.5
	Unit  string  // "s", "%", "/s"; may be empty
}

// Transition is a change of state.
type Transition struct {
	Time time.Time
	From string // may be empty
	To   string
}

// Level rates a state. The page shows any other value as Bad.
type Level uint8

const (
	// OK is the normal state.
	OK Level = iota
	// Warn deserves attention, for example a half-open circuit.
	Warn
	// Bad means that calls fail or are refused because of this source.
	Bad
)

// String returns "ok", "warn" or "bad".
func (l Level) String() string {
	return enum.Name("level", l, "ok warn bad")
}

// MarshalText returns the text of String, and an error for any other Level.
func (l Level) MarshalText() ([]byte, error) { return enum.Marshal(l, OK, Bad) }

// UnmarshalText sets l from "ok", "warn" or "bad". Other texts are errors and leave l as it is.
func (l *Level) UnmarshalText(text []byte) error { return enum.Unmarshal(l, text, OK, Bad) }

const (
	maxFigures     = 24
	maxTransitions = 10

	// pollTimeout is how long a sample waits for the sources.
	pollTimeout = 250 * time.Millisecond
)

type source struct {
	id uint64
	Source

	// The fields below belong to the sampling goroutine.
	pending *poll // in flight; nil if there is none
	last    sourceDocument
}

type poll struct {
	started time.Time
	result  chan sourceDocument
	ended   atomic.Int64 // when the result was sent, Unix nanoseconds; 0 before
}

// dropOld drops the result of a poll that ended before the sampler before this one did.
func (s *source) dropOld(now time.Time) {
	if s.pending == nil {
		return
	}
	if at := s.pending.ended.Load(); at != 0 && now.Sub(time.Unix(0, at)) > 2*sampleInterval {
		s.receive(<-s.pending.result)
	}
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
		s.dropOld(now)
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
		p.ended.Store(time.Now().UnixNano())
	}()
	doc = sourceDocumentOf(s.Status())
}

// await returns the result of the pending poll. On timeout it returns the last known status with an
// error. It does not wait for a poll of an earlier sample.
func (s *source) await(now time.Time, timeout <-chan struct{}) sourceDocument {
	p := s.pending
	if !now.After(p.started) {
		select {
		case doc := <-p.result:
			return s.receive(doc)
		case <-timeout:
		}
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
