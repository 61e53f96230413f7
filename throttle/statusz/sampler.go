package statusz

import (
	"sync/atomic"
	"time"
)

const (
	// period is the time between two samples.
	period = time.Second
	// memory is for how long sampling goes on when nobody looks any more.
	memory = 5 * time.Minute
	// maxLag is how many events a client may be behind. They are kept for the slowest.
	maxLag = 60
)

// sampler looks at everything once per second. But for latest, all of it belongs to its goroutine.
type sampler struct {
	registry *registry
	process  process
	since    time.Time
	last     time.Time // of the samples
	times    []int64   // of the history
	tracks   map[uint64]*track
	sources  map[uint64][]byte // as the stream has them

	latest atomic.Pointer[sample]
}

// newSampler returns a sampler with a first event, which says nothing but waits for the next.
func newSampler(g *registry, p process) *sampler {
	s := &sampler{registry: g, process: p, tracks: map[uint64]*track{}}
	s.latest.Store(&sample{event: newEvent(0, nil)})
	return s
}

// run samples until the page is done, or over says that nobody has looked for long.
func (s *sampler) run(done <-chan struct{}, over func(now time.Time) bool) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	s.since = time.Now()
	for {
		s.sample()
		select {
		case <-ticker.C:
		case <-done:
			return
		}
		if over(time.Now()) {
			return
		}
	}
}

// sample takes one sample and publishes it.
func (s *sampler) sample() {
	now := time.Now()
	answers := s.registry.ask(now)
	readings := s.registry.read()
	seconds := 0.0
	if !s.last.IsZero() {
		seconds = now.Sub(s.last).Seconds()
		s.times = append(s.times[max(0, len(s.times)-historyLength+1):len(s.times):len(s.times)], now.UnixMilli())
	}
	s.last = now
	p := &picture{at: now, times: s.times, document: document{
		Time: timestamp(now), Process: s.process, SampledSince: timestamp(s.since),
		Throttles: make([]throttleDocument, len(readings)),
	}}
	var c change
	p.tracks = s.follow(readings, p.document.Throttles, seconds, &c)
	p.document.Sources = append([]sourceDocument{}, answers()...)
	s.sources = c.followSources(p.document.Sources, s.sources)
	before := s.latest.Load().event
	next := newEvent(before.number+1, c.encode(now))
	s.latest.Store(newSample(p, next))
	before.lead(next)
}

// follow takes down every row, forgets those that are gone, and returns pictures of all.
func (s *sampler) follow(readings []reading, docs []throttleDocument, seconds float64, c *change) []track {
	tracks := make([]track, len(readings))
	for i := range readings {
		docs[i] = documentOf(&readings[i])
		tr, known := s.tracks[docs[i].id]
		if !known {
			tr = &track{id: docs[i].id}
			s.tracks[tr.id] = tr
		}
		tr.follow(&docs[i], seconds)
		tr.encode(&docs[i], c)
		tracks[i] = tr.picture()
	}
	if len(s.tracks) > len(readings) {
		s.forget(tracks, c)
	}
	return tracks
}

// forget drops the tracks that are not among the current ones.
func (s *sampler) forget(current []track, c *change) {
	still := make(map[uint64]bool, len(current))
	for i := range current {
		still[current[i].id] = true
	}
	for id := range s.tracks {
		if !still[id] {
			delete(s.tracks, id)
			c.leave(id)
		}
	}
}

// isAhead reports whether there are too many events since the one with a number.
func (s *sampler) isAhead(of uint64) bool { return s.latest.Load().event.number-of > maxLag }
