package statusz

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	// sampleInterval is the time between two samples.
	sampleInterval = time.Second
	// maxLag is how many events a client may lag behind. Events are kept for the slowest client.
	maxLag = 60
)

// sampler reads all throttles and sources once per second. All fields except latest belong to its
// goroutine.
type sampler struct {
	registry *registry
	process  process
	stats    func() throttle.ProcessorStats // of the process
	since    time.Time                      // when it started
	last     time.Time                      // when it took the latest sample
	times    []int64                        // of the samples in the history, Unix milliseconds
	rows     map[uint64]*rowState
	sources  map[uint64][]byte // by id, as the stream encodes them
	state    []byte            // of the process, as the stream encodes it

	latest atomic.Pointer[sample]
}

// sample is one published state of everything. It is immutable. Each encoding is made once, by the
// first client that needs it.
type sample struct {
	event    *event
	document func() []byte // for ?format=json
	history  func() []byte // the same with the history
	snapshot func() []byte // the first event of a stream
}

// event is what changed with one sample, encoded for the stream. Events form a linked list, so a
// slow client keeps only the events after its own.
type event struct {
	number uint64
	data   []byte
	ready  chan struct{} // closed when next is set
	next   *event
}

func newEvent(number uint64, data []byte) *event {
	return &event{number: number, data: data, ready: make(chan struct{})}
}

// setNext publishes the next event to the clients that wait on ready.
func (e *event) setNext(next *event) {
	e.next = next
	close(e.ready)
}

// newSampler returns a sampler whose first event is empty, so that clients can wait for the next.
func (p *Page) newSampler() *sampler {
	s := &sampler{registry: &p.registry, process: p.process, stats: p.stats}
	s.latest.Store(&sample{event: newEvent(0, nil)})
	return s
}

// run samples until done is closed or idle returns true.
func (s *sampler) run(done <-chan struct{}, idle func(now time.Time) bool) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	s.since = time.Now()
	for {
		s.sample()
		select {
		case <-ticker.C:
			ticker.Reset(sampleInterval) // or after a late tick the next comes at once: a rate of so short a time may be far too high
		case <-done:
			return
		}
		if idle(time.Now()) {
			return
		}
	}
}

// sample takes one sample and publishes it.
func (s *sampler) sample() {
	now := time.Now()
	wait := s.registry.poll(now)
	stats := s.registry.read()
	processor := s.stats()
	current := s.process
	current.Processor = processorDocumentOf(&processor)
	seconds := 0.0
	if !s.last.IsZero() {
		seconds = now.Sub(s.last).Seconds()
		s.times = append(s.times[max(0, len(s.times)-historyLength+1):len(s.times):len(s.times)], now.UnixMilli())
	}
	s.last = now
	snap := &snapshot{at: now, times: s.times, document: document{
		Time: timestamp(now), Process: current, SampledSince: timestamp(s.since),
		Throttles: make([]throttleDocument, len(stats)),
	}}
	var d delta
	s.state = d.updateProcessor(current.Processor, s.state)
	snap.rows = s.updateRows(stats, &processor, snap.document.Throttles, seconds, &d)
	snap.document.Sources = append([]sourceDocument{}, wait()...)
	s.sources = d.updateSources(snap.document.Sources, s.sources)
	before := s.latest.Load().event
	next := newEvent(before.number+1, d.encode(now))
	s.latest.Store(&sample{
		event:    next,
		document: sync.OnceValue(func() []byte { return encode(&snap.document) }),
		history:  sync.OnceValue(snap.encodeHistory),
		snapshot: sync.OnceValue(snap.encodeStream),
	})
	before.setNext(next)
}

// updateRows fills docs, adds the sample to the history of every row, drops the history of removed
// rows, and returns a copy of all.
func (s *sampler) updateRows(
	stats []rowStats, processor *throttle.ProcessorStats, docs []throttleDocument, seconds float64, d *delta,
) []rowState {
	rows, current := make([]rowState, len(stats)), make(map[uint64]*rowState, len(stats))
	for i := range stats {
		docs[i] = documentOf(&stats[i])
		docs[i].addProcessor(processor)
		r := s.rows[docs[i].id]
		if r == nil {
			r = &rowState{id: docs[i].id}
		}
		current[r.id] = r
		r.update(&docs[i], seconds)
		r.appendChanges(&docs[i], d)
		rows[i] = r.clone()
	}
	for id := range s.rows {
		if current[id] == nil {
			d.gone = appendID(d.gone, id)
		}
	}
	s.rows = current
	return rows
}

// lagsBehind reports whether event number of is more than maxLag events old.
func (s *sampler) lagsBehind(of uint64) bool { return s.latest.Load().event.number-of > maxLag }
