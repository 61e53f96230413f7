package statusz

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// track is what the sampler remembers of one row.
type track struct {
	id         uint64
	samples    int // of the history, no more than historyLength
	head       []byte
	priorities []lane
}

// lane is what is remembered of one priority. What it points to is never changed, so a copy of it is a picture.
type lane struct {
	figures   []byte // as the stream has them
	admitted  uint64
	shed      uint64
	wouldShed uint64
	history   historyDocument
}

// follow takes down what the document shows, and fills in its rates: seconds have passed since the sample before, or
// none if there was none.
func (tr *track) follow(doc *throttleDocument, seconds float64) {
	for p := range doc.Priorities {
		if p == len(tr.priorities) {
			tr.priorities = append(tr.priorities, lane{})
		}
		tr.priorities[p].follow(&doc.Priorities[p], tr.samples, seconds)
	}
	if seconds > 0 {
		tr.samples = min(tr.samples+1, historyLength)
	}
}

func (l *lane) follow(doc *priorityDocument, before int, seconds float64) {
	shed, wouldShed := doc.Shed.sum(), doc.WouldShed.sum()
	if seconds > 0 {
		doc.Rates = &rates{
			Admitted:  short(rate(l.admitted, doc.Admitted, seconds)),
			Shed:      short(rate(l.shed, shed, seconds)),
			WouldShed: short(rate(l.wouldShed, wouldShed, seconds)),
		}
		l.history.push(doc, before)
	}
	l.admitted, l.shed, l.wouldShed = doc.Admitted, shed, wouldShed
}

func (h *historyDocument) push(doc *priorityDocument, before int) {
	h.Admitted = h.Admitted.push(doc.Rates.Admitted, before)
	h.Shed = h.Shed.push(doc.Rates.Shed, before)
	h.WouldShed = h.WouldShed.push(doc.Rates.WouldShed, before)
	h.Probability = h.Probability.push(float32(math.Round(doc.Probability*1000)/1000), before)
}

// picture returns a copy that stays as it is.
func (tr *track) picture() track {
	picture := *tr
	picture.priorities = append([]lane(nil), tr.priorities...)
	return picture
}

// recent returns the history of one priority as it is shown: a series that is nil has been nothing but 0.
func (l *lane) recent() historyDocument {
	return historyDocument{
		Admitted:    l.history.Admitted.recent(),
		Shed:        l.history.Shed.recent(),
		WouldShed:   l.history.WouldShed.recent(),
		Probability: l.history.Probability.recent(),
	}
}

// full returns the history with its zeros written out.
func (l *lane) full(samples int) *historyDocument {
	h := l.recent()
	for _, s := range []*series{&h.Admitted, &h.Shed, &h.WouldShed, &h.Probability} {
		if *s == nil {
			*s = make(series, samples)
		}
	}
	return &h
}

// encode writes down what changed since the last time, for the stream: the row's head, and the figures of its priorities.
func (tr *track) encode(doc *throttleDocument, to *change) {
	if head := headOf(doc); !bytes.Equal(head, tr.head) {
		tr.head = head
		to.rows = appendItem(to.rows, func(b []byte) []byte { return append(append(append(b, '{'), head...), '}') })
	}
	for p := range doc.Priorities {
		figures := appendFigures(nil, &doc.Priorities[p])
		if bytes.Equal(figures, tr.priorities[p].figures) {
			continue
		}
		tr.priorities[p].figures = figures
		to.figures = appendItem(to.figures, func(b []byte) []byte {
			b = append(strconv.AppendUint(append(b, '['), tr.id, 10), ',')
			b = append(strconv.AppendInt(b, int64(p), 10), ',')
			return append(append(b, figures...), ']')
		})
	}
}

// headOf is what of a row seldom changes, as the fields of a JSON object without its braces.
func headOf(doc *throttleDocument) []byte {
	words := make([]string, len(doc.Priorities))
	for p := range doc.Priorities {
		words[p] = doc.Priorities[p].Priority
	}
	head, err := json.Marshal(struct {
		ID         uint64   `json:"id"`
		Name       string   `json:"name"`
		Policy     string   `json:"policy"`
		Mode       string   `json:"mode"`
		Instances  int      `json:"instances"`
		Mixed      bool     `json:"mixed"`
		Ratio      float64  `json:"ratio"`
		Minimum    float64  `json:"minimum_rate"`
		Rejection  float64  `json:"target_rejection"`
		Window     float64  `json:"window_seconds"`
		Priorities []string `json:"priorities"`
	}{
		doc.id, doc.Name, doc.Policy, doc.Mode, doc.Instances, doc.Mixed, doc.Ratio, doc.MinimumRate, doc.TargetRejection,
		doc.WindowSeconds, words,
	})
	if err != nil { // no: there is nothing in it that JSON does not have
		return nil
	}
	return head[1 : len(head)-1]
}

// appendFigures writes what changes all the time, without names and brackets. Page/model.js reads it in this order.
func appendFigures(b []byte, doc *priorityDocument) []byte {
	for _, n := range []uint64{doc.Admitted, doc.Shed.Own, doc.Shed.Above, doc.WouldShed.Own, doc.WouldShed.Above} {
		b = append(strconv.AppendUint(b, n, 10), ',')
	}
	b = append(appendNumber(b, doc.Probability), ',')
	b = append(strconv.AppendUint(b, uint64(doc.cause), 10), ',')
	for _, n := range []uint64{doc.Window.Accepted, doc.Window.Rejected, doc.Window.Shed} {
		b = append(strconv.AppendUint(b, n, 10), ',')
	}
	b = append(strconv.AppendInt(b, doc.InFlight, 10), ',')
	b = append(strconv.AppendUint(b, doc.Clamped, 10), ',')
	b = appendTallies(b, doc.Ended)
	if len(doc.Fallbacks) == 0 {
		return b
	}
	return appendTallies(append(b, ','), doc.Fallbacks)
}

// appendTallies writes outcome, fault, calls, outcome, fault, calls and so on, words as their index.
func appendTallies(b []byte, tallies []tally) []byte {
	b = append(b, '[')
	for i, t := range tallies {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendUint(b, uint64(t.outcome), 10), ',')
		b = append(strconv.AppendUint(b, uint64(t.fault), 10), ',')
		b = strconv.AppendUint(b, t.Calls, 10)
	}
	return append(b, ']')
}

// appendItem appends an element to what will be a JSON array, with the comma it needs.
func appendItem(b []byte, item func([]byte) []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	return item(b)
}
