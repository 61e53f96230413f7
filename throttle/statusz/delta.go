package statusz

import (
	"bytes"
	"strconv"
	"time"
)

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
