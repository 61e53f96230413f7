package statusz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

type snapshot struct {
	document document
	at       time.Time
	times    []int64    // of the samples in the history, Unix milliseconds
	rows     []rowState // one per document.Throttles, in the same order
}

func encode(doc *document) []byte {
	b, err := json.Marshal(doc)
	if err != nil { // unreachable: every number is finite, and times are strings
		return nil
	}
	return append(b, '\n')
}

// encodeHistory encodes the document with the history of each priority.
func (s *snapshot) encodeHistory() []byte {
	doc := s.document
	doc.Throttles = append([]throttleDocument{}, doc.Throttles...)
	for i := range doc.Throttles {
		t, row := &doc.Throttles[i], &s.rows[i]
		t.Priorities = append([]priorityDocument{}, t.Priorities...)
		for p := range t.Priorities {
			t.Priorities[p].History = row.priorities[p].full(row.samples)
		}
	}
	return encode(&doc)
}

// encodeStream encodes the first event of a stream. It may have several megabytes, so numbers are
// not encoded by reflection.
func (s *snapshot) encodeStream() []byte {
	b := appendTime([]byte("event: snapshot\ndata: {"), s.at)
	b = appendJSON(append(b, `,"process":`...), &s.document.Process)
	b = appendJSON(append(b, `,"outcomes":`...), words(throttle.Outcomes()))
	b = appendJSON(append(b, `,"faults":`...), words(throttle.Faults()))
	b = appendJSON(append(b, `,"causes":`...), words(throttle.Causes()))
	b = appendList(append(b, `,"times":`...), s.times, func(b []byte, t int64) []byte { return strconv.AppendInt(b, t, 10) })
	b = appendList(append(b, `,"throttles":`...), s.rows, func(b []byte, r rowState) []byte { return r.appendTo(b) })
	b = appendList(append(b, `,"sources":`...), s.document.Sources, appendSource)
	return append(b, "}\n\n"...)
}

func (r *rowState) appendTo(b []byte) []byte {
	b = append(append(b, '{'), r.head...)
	b = appendList(append(b, `,"figures":`...), r.priorities, func(b []byte, p priorityState) []byte {
		return append(append(append(b, '['), p.figures...), ']')
	})
	b = appendList(append(b, `,"history":`...), r.priorities, func(b []byte, p priorityState) []byte {
		h := p.recent()
		all := h.all()
		return appendList(b, all[:], appendSeries)
	})
	return append(strconv.AppendInt(append(b, `,"samples":`...), int64(r.samples), 10), '}')
}

func appendList[T any](b []byte, all []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, one := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, one)
	}
	return append(b, ']')
}

// appendSeries appends a series as a JSON array, or 0 for a series of zeros.
func appendSeries(b []byte, s *series) []byte {
	if *s == nil {
		return append(b, '0')
	}
	return appendList(b, *s, func(b []byte, v float32) []byte { return appendNumber(b, float64(v)) })
}

func appendTime(b []byte, t time.Time) []byte {
	return strconv.AppendInt(append(b, `"time":`...), t.UnixMilli(), 10)
}

func appendJSON(b []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil { // unreachable, as in encode
		return append(b, "null"...)
	}
	return append(b, encoded...)
}

// fieldsOf returns the JSON of an object without its braces.
func fieldsOf(v any) []byte {
	b := appendJSON(nil, v)
	return b[1 : len(b)-1]
}

// appendSource appends a source with its id as the first field.
func appendSource(b []byte, doc sourceDocument) []byte {
	b = strconv.AppendUint(append(b, `{"id":`...), doc.id, 10)
	return append(append(append(b, ','), fieldsOf(&doc)...), '}')
}

// appendChanges adds the row's head and the figures of its priorities to d if they have changed.
func (r *rowState) appendChanges(doc *throttleDocument, d *delta) {
	if head := encodeHead(doc); !bytes.Equal(head, r.head) {
		r.head = head
		d.rows = appendItem(d.rows, func(b []byte) []byte { return append(append(append(b, '{'), head...), '}') })
	}
	for p := range doc.Priorities {
		figures := appendFigures(nil, &doc.Priorities[p])
		if bytes.Equal(figures, r.priorities[p].figures) {
			continue
		}
		r.priorities[p].figures = figures
		d.figures = appendItem(d.figures, func(b []byte) []byte {
			b = append(strconv.AppendUint(append(b, '['), r.id, 10), ',')
			b = append(strconv.AppendInt(b, int64(p), 10), ',')
			return append(append(b, figures...), ']')
		})
	}
}

// rowHead is all of a row but its figures and its history.
type rowHead struct {
	ID uint64 `json:"id"`
	headDocument
	Priorities     []string         `json:"priorities"`
	Slow           *slowRowDocument `json:"slow,omitempty"`
	Tenants        *tenantsDocument `json:"tenants,omitempty"`
	Members        []memberDocument `json:"members,omitempty"`
	MembersOmitted int              `json:"members_omitted,omitempty"`
}

// slowRowDocument is what Slow does in a row, with its calls by priority.
type slowRowDocument struct {
	*slowDocument
	Calls []*slowCallsDocument `json:"calls"`
}

// encodeHead encodes the head of a row as the fields of a JSON object, without braces.
func encodeHead(doc *throttleDocument) []byte {
	head := rowHead{
		ID: doc.id, headDocument: doc.headDocument, Priorities: make([]string, 0, len(doc.Priorities)),
		Tenants: doc.Tenants, Members: doc.Members, MembersOmitted: doc.MembersOmitted,
	}
	if doc.Slow != nil {
		head.Slow = &slowRowDocument{slowDocument: doc.Slow}
	}
	for p := range doc.Priorities {
		head.Priorities = append(head.Priorities, doc.Priorities[p].Priority)
		if doc.Slow != nil {
			head.Slow.Calls = append(head.Slow.Calls, doc.Priorities[p].Slow)
		}
	}
	return fieldsOf(head)
}

// appendFigures appends the figures of a priority without names and brackets. page/model.js reads
// them in this order.
func appendFigures(b []byte, doc *priorityDocument) []byte {
	shed, would := &doc.Shed, &doc.WouldShed
	for _, n := range []uint64{doc.Admitted, shed.Own, shed.Above, shed.Limit, shed.Processor, shed.Told, would.Own, would.Above, would.Limit, would.Processor, would.Told} {
		b = append(strconv.AppendUint(b, n, 10), ',')
	}
	b = append(appendNumber(b, doc.Probability), ',')
	b = append(strconv.AppendUint(b, uint64(doc.cause), 10), ',')
	for _, n := range []uint64{doc.Window.Accepted, doc.Window.Rejected, doc.Window.Shed} {
		b = append(strconv.AppendUint(b, n, 10), ',')
	}
	b = append(strconv.AppendInt(b, doc.InFlight, 10), ',')
	b = append(strconv.AppendUint(b, doc.Clamped, 10), ',')
	b = append(strconv.AppendUint(b, doc.Overloaded, 10), ',')
	b = appendCounts(b, doc.Ended)
	if len(doc.Fallbacks) == 0 {
		return b
	}
	return appendCounts(append(b, ','), doc.Fallbacks)
}

// appendCounts appends [outcome, fault, calls, outcome, fault, calls...]. Outcomes and faults are
// their index.
func appendCounts(b []byte, counts []countDocument) []byte {
	return appendList(b, counts, func(b []byte, c countDocument) []byte {
		b = append(strconv.AppendUint(b, uint64(c.outcome), 10), ',')
		b = append(strconv.AppendUint(b, uint64(c.fault), 10), ',')
		return strconv.AppendUint(b, c.Calls, 10)
	})
}

// words returns the words of an enumeration. The stream has outcomes, faults and causes by their index.
func words[V fmt.Stringer](all iter.Seq[V]) (names []string) {
	for v := range all {
		names = append(names, v.String())
	}
	return names
}

// delta is what changed since the previous sample. Each field holds the elements of a JSON array
// without its brackets.
type delta struct {
	rows        []byte // heads of new and changed rows
	figures     []byte // [id, priority, figures...]
	processor   []byte // one element
	gone        []byte // ids of removed rows
	sources     []byte
	goneSources []byte // ids
}

// encode returns the delta as an event of the stream.
func (d *delta) encode(at time.Time) []byte {
	b := appendTime([]byte("event: sample\ndata: {"), at)
	for _, part := range []struct {
		name     string
		elements []byte
	}{
		{"rows", d.rows},
		{"figures", d.figures},
		{"processor", d.processor},
		{"gone", d.gone},
		{"sources", d.sources},
		{"gone_sources", d.goneSources},
	} {
		if len(part.elements) > 0 {
			b = append(append(append(b, `,"`...), part.name...), `":[`...)
			b = append(append(b, part.elements...), ']')
		}
	}
	return append(b, "}\n\n"...)
}

// updateSources compares docs with the encodings of the previous sample and adds what changed. It
// returns the current encodings.
func (d *delta) updateSources(docs []sourceDocument, before map[uint64][]byte) map[uint64][]byte {
	now := make(map[uint64][]byte, len(docs))
	for i := range docs {
		encoded := appendSource(nil, docs[i])
		now[docs[i].id] = encoded
		if !bytes.Equal(encoded, before[docs[i].id]) {
			d.sources = appendItem(d.sources, func(b []byte) []byte { return append(b, encoded...) })
		}
	}
	for id := range before {
		if _, ok := now[id]; !ok {
			d.goneSources = appendID(d.goneSources, id)
		}
	}
	return now
}

// appendItem appends an element of a JSON array, with a comma before all but the first.
func appendItem(b []byte, item func([]byte) []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	return item(b)
}

func appendID(b []byte, id uint64) []byte {
	return appendItem(b, func(b []byte) []byte { return strconv.AppendUint(b, id, 10) })
}
