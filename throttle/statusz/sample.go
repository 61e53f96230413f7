package statusz

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// sample is what there was to see at one instant. It does not change, and each of its encodings is made once, by the first who asks.
type sample struct {
	event    *event
	document func() []byte // for ?format=json
	history  func() []byte // the same with the history
	snapshot func() []byte // with which a stream begins
}

// event is what changed with one sample, as the stream has it, and the way to the next.
type event struct {
	number uint64
	data   []byte
	ready  chan struct{} // closed when next is there
	next   *event
}

func newEvent(number uint64, data []byte) *event {
	return &event{number: number, data: data, ready: make(chan struct{})}
}

// lead shows those who wait for it the way to the next event.
func (e *event) lead(next *event) {
	e.next = next
	close(e.ready)
}

// picture is all that the encodings of a sample need.
type picture struct {
	document document
	at       time.Time
	times    []int64 // of the samples in the history
	tracks   []track // of the throttles in document, in their order
}

func newSample(p *picture, e *event) *sample {
	return &sample{
		event:    e,
		document: sync.OnceValue(func() []byte { return encode(&p.document) }),
		history:  sync.OnceValue(p.encodeHistory),
		snapshot: sync.OnceValue(p.encodeSnapshot),
	}
}

func encode(doc *document) []byte {
	b, err := json.Marshal(doc)
	if err != nil { // no: every number in it is finite, and times are strings
		return nil
	}
	return append(b, '\n')
}

// encodeHistory encodes the document with the history of each priority.
func (p *picture) encodeHistory() []byte {
	doc := p.document
	doc.Throttles = append([]throttleDocument{}, doc.Throttles...)
	for i := range doc.Throttles {
		t, tr := &doc.Throttles[i], &p.tracks[i]
		t.Priorities = append([]priorityDocument{}, t.Priorities...)
		for j := range t.Priorities {
			t.Priorities[j].History = tr.priorities[j].full(tr.samples)
		}
	}
	return encode(&doc)
}

// encodeSnapshot encodes all that a page needs to begin with. It may be some megabytes, so it is written by hand.
func (p *picture) encodeSnapshot() []byte {
	b := appendTime([]byte("event: snapshot\ndata: {"), p.at)
	b = appendJSON(append(b, `,"process":`...), &p.document.Process)
	b = appendJSON(append(b, `,"outcomes":`...), outcomeWords())
	b = appendJSON(append(b, `,"faults":`...), faultWords())
	b = appendJSON(append(b, `,"causes":`...), []string{throttle.CauseOwn.String(), throttle.CauseAbove.String()})
	b = append(b, `,"times":[`...)
	for i, t := range p.times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, t, 10)
	}
	b = append(b, `],"throttles":[`...)
	for i := range p.tracks {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.tracks[i].appendTo(b)
	}
	b = append(b, `],"sources":[`...)
	for i := range p.document.Sources {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encodeSource(&p.document.Sources[i])...)
	}
	return append(b, "]}\n\n"...)
}

// appendTo writes the row with its figures and its history.
func (tr *track) appendTo(b []byte) []byte {
	b = append(append(append(b, '{'), tr.head...), `,"figures":[`...)
	for p := range tr.priorities {
		if p > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '['), tr.priorities[p].figures...), ']')
	}
	b = append(b, `],"history":[`...)
	for p := range tr.priorities {
		if p > 0 {
			b = append(b, ',')
		}
		h := tr.priorities[p].recent()
		b = appendSeries(append(b, '['), h.Admitted)
		b = appendSeries(append(b, ','), h.Shed)
		b = appendSeries(append(b, ','), h.WouldShed)
		b = append(appendSeries(append(b, ','), h.Probability), ']')
	}
	return append(append(append(b, `],"samples":`...), strconv.Itoa(tr.samples)...), '}')
}

// appendSeries writes a series, or 0 for one that is nothing but that.
func appendSeries(b []byte, s series) []byte {
	if s == nil {
		return append(b, '0')
	}
	b = append(b, '[')
	for i, v := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, float64(v))
	}
	return append(b, ']')
}

func appendTime(b []byte, t time.Time) []byte {
	return strconv.AppendInt(append(b, `"time":`...), t.UnixMilli(), 10)
}

func appendJSON(b []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil { // no: the same holds
		return append(b, "null"...)
	}
	return append(b, encoded...)
}

func outcomeWords() []string {
	words := make([]string, throttle.NumOutcomes)
	for o := range words {
		words[o] = throttle.Outcome(o).String()
	}
	return words
}

func faultWords() []string {
	words := make([]string, throttle.NumFaults)
	for f := range words {
		words[f] = throttle.Fault(f).String()
	}
	return words
}
