package statusz

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// snapshot holds all that the encodings of a sample need.
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
	b = append(b, `,"times":[`...)
	for i, t := range s.times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, t, 10)
	}
	b = append(b, `],"throttles":[`...)
	for i := range s.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.rows[i].appendTo(b)
	}
	b = append(b, `],"sources":[`...)
	for i := range s.document.Sources {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encodeSource(&s.document.Sources[i])...)
	}
	return append(b, "]}\n\n"...)
}

// appendTo appends the row with its current figures and its history.
func (r *rowState) appendTo(b []byte) []byte {
	b = append(append(b, '{'), r.head...)
	for _, part := range [][]byte{r.members, r.slow, r.tenants} {
		if part != nil {
			b = append(append(b, ','), part...)
		}
	}
	b = append(b, `,"figures":[`...)
	for p := range r.priorities {
		if p > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '['), r.priorities[p].figures...), ']')
	}
	b = append(b, `],"history":[`...)
	for p := range r.priorities {
		if p > 0 {
			b = append(b, ',')
		}
		h := r.priorities[p].recent()
		b = appendSeries(append(b, '['), h.Admitted)
		b = appendSeries(append(b, ','), h.Shed)
		b = appendSeries(append(b, ','), h.WouldShed)
		b = append(appendSeries(append(b, ','), h.Probability), ']')
	}
	return append(append(append(b, `],"samples":`...), strconv.Itoa(r.samples)...), '}')
}

// appendSeries appends a series as a JSON array, or 0 for a series of zeros.
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
	if err != nil { // unreachable, as in encode
		return append(b, "null"...)
	}
	return append(b, encoded...)
}

// encodeSource encodes a source with its id as the first field.
func encodeSource(doc *sourceDocument) []byte {
	b := strconv.AppendUint([]byte(`{"id":`), doc.id, 10)
	return append(append(b, ','), appendJSON(nil, doc)[1:]...)
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
	r.appendMembers(doc, d)
	r.appendSlow(doc, d)
	r.appendTenants(doc, d)
}

// appendPart appends a part of the row to those of other rows, if it has changed since last.
func (r *rowState) appendPart(parts []byte, last *[]byte, now []byte) []byte {
	if bytes.Equal(now, *last) {
		return parts
	}
	*last = now
	return appendItem(parts, func(b []byte) []byte {
		b = strconv.AppendUint(append(b, `{"id":`...), r.id, 10)
		return append(append(append(b, ','), now...), '}')
	})
}

// encodeHead encodes the settings of a row as the fields of a JSON object, without braces.
func encodeHead(doc *throttleDocument) []byte {
	names := make([]string, len(doc.Priorities))
	for p := range doc.Priorities {
		names[p] = doc.Priorities[p].Priority
	}
	head, err := json.Marshal(struct {
		ID uint64 `json:"id"`
		headDocument
		Priorities []string `json:"priorities"`
	}{doc.id, doc.headDocument, names})
	if err != nil { // unreachable, as in encode
		return nil
	}
	return head[1 : len(head)-1]
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
	b = append(b, '[')
	for i, c := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendUint(b, uint64(c.outcome), 10), ',')
		b = append(strconv.AppendUint(b, uint64(c.fault), 10), ',')
		b = strconv.AppendUint(b, c.Calls, 10)
	}
	return append(b, ']')
}
