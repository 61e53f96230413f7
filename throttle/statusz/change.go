package statusz

import (
	"bytes"
	"strconv"
	"time"
)

// change is what one sample has that the one before did not, as the elements of JSON arrays without their brackets.
type change struct {
	rows        []byte // heads of rows that are new or have changed
	figures     []byte // [id, priority, figures...] where they have changed
	gone        []byte // ids of rows
	sources     []byte
	goneSources []byte // ids
}

// encode writes the change as an event of the stream.
func (c *change) encode(at time.Time) []byte {
	b := appendTime([]byte("event: sample\ndata: {"), at)
	for _, part := range []struct {
		name     string
		elements []byte
	}{
		{"rows", c.rows},
		{"figures", c.figures},
		{"gone", c.gone},
		{"sources", c.sources},
		{"gone_sources", c.goneSources},
	} {
		if len(part.elements) > 0 {
			b = append(append(append(b, `,"`...), part.name...), `":[`...)
			b = append(append(b, part.elements...), ']')
		}
	}
	return append(b, "}\n\n"...)
}

// leave says that a row is gone.
func (c *change) leave(id uint64) { c.gone = appendID(c.gone, id) }

// followSources says which sources have changed, given how they were encoded, and returns how they are now.
func (c *change) followSources(docs []sourceDocument, before map[uint64][]byte) map[uint64][]byte {
	now := make(map[uint64][]byte, len(docs))
	for i := range docs {
		encoded := encodeSource(&docs[i])
		now[docs[i].id] = encoded
		if !bytes.Equal(encoded, before[docs[i].id]) {
			c.sources = appendItem(c.sources, func(b []byte) []byte { return append(b, encoded...) })
		}
	}
	for id := range before {
		if _, still := now[id]; !still {
			c.goneSources = appendID(c.goneSources, id)
		}
	}
	return now
}

// encodeSource writes a source with its id in front.
func encodeSource(doc *sourceDocument) []byte {
	b := strconv.AppendUint([]byte(`{"id":`), doc.id, 10)
	return append(append(b, ','), appendJSON(nil, doc)[1:]...)
}

func appendID(b []byte, id uint64) []byte {
	return appendItem(b, func(b []byte) []byte { return strconv.AppendUint(b, id, 10) })
}
