package statusz

import (
	"math"
	"slices"
	"strconv"
)

const (
	// historyLength is how many samples are kept, one per second.
	historyLength = 300
	// historySlack is how many samples a series may hold beyond that before it is copied.
	historySlack = 20
)

// rowState is what the sampler keeps of one row between samples.
type rowState struct {
	id         uint64
	samples    int    // in the history, at most historyLength
	head       []byte // all but figures and history, as the stream has it
	priorities []priorityState
}

// priorityState is what the sampler keeps of one priority. The slices it points to are never
// changed, so a copy is a snapshot.
type priorityState struct {
	figures []byte    // as the stream has them
	totals  [3]uint64 // admitted, shed, and those that would be shed
	history historyDocument
}

// update adds doc to the history and sets its rates. seconds is the time since the previous sample,
// 0 for the first.
func (r *rowState) update(doc *throttleDocument, seconds float64) {
	for p := range doc.Priorities {
		if p == len(r.priorities) {
			r.priorities = append(r.priorities, priorityState{})
		}
		r.priorities[p].update(&doc.Priorities[p], r.samples, seconds)
	}
	if seconds > 0 {
		r.samples = min(r.samples+1, historyLength)
	}
}

// clone returns a copy that later updates do not change.
func (r *rowState) clone() rowState {
	c := *r
	c.priorities = append([]priorityState(nil), r.priorities...)
	return c
}

func (s *priorityState) update(doc *priorityDocument, samples int, seconds float64) {
	var values [4]float32
	for i, total := range [...]uint64{doc.Admitted, doc.Shed.sum(), doc.WouldShed.sum()} {
		values[i] = roundRate(rate(s.totals[i], total, seconds))
		s.totals[i] = max(s.totals[i], total)
	}
	if seconds > 0 {
		doc.Rates = &rates{Admitted: values[0], Shed: values[1], WouldShed: values[2]}
		values[3] = float32(thousandths(doc.Probability))
		for i, one := range s.history.all() {
			*one = one.push(values[i], samples)
		}
	}
}

func (h *historyDocument) all() [4]*series {
	return [...]*series{&h.Admitted, &h.Shed, &h.WouldShed, &h.Probability}
}

// recent returns the history without slack. A nil series is all zeros.
func (s *priorityState) recent() historyDocument {
	h := s.history
	for _, one := range h.all() {
		*one = (*one)[max(0, len(*one)-historyLength):]
	}
	return h
}

// full returns the recent history with nil series filled with zeros.
func (s *priorityState) full(samples int) *historyDocument {
	h := s.recent()
	for _, values := range h.all() {
		if *values == nil {
			*values = make(series, samples)
		}
	}
	return &h
}

// series is one figure, once per second. A nil series is all zeros and takes no memory. Values are
// never changed after push, so a slice of a series can be read while the series grows.
type series []float32

// push returns the series with v appended. samples is how many samples the history already has. A
// full series is copied without its oldest values.
func (s series) push(v float32, samples int) series {
	if s == nil {
		if v == 0 {
			return nil
		}
		s = make(series, min(samples, historyLength-1), historyLength+historySlack)
	}
	if len(s) < cap(s) {
		return append(s, v)
	}
	recent := s[len(s)-historyLength+1:]
	if v == 0 && !slices.ContainsFunc(recent, func(v float32) bool { return v != 0 }) {
		return nil
	}
	return append(append(make(series, 0, historyLength+historySlack), recent...), v)
}

// roundRate rounds a rate to tenths below 1,000 and to integers above. Samples are not exactly one
// second apart, and five calls must not show as 4.99 per second.
func roundRate(v float64) float32 {
	if v < 1000 {
		return float32(math.Round(v*10) / 10)
	}
	return float32(math.Round(v))
}

// rate returns the increase per second. It returns 0 if the counter fell or no time passed.
func rate(before, now uint64, seconds float64) float64 {
	if now <= before || !(seconds > 0) {
		return 0
	}
	return finite(float64(now-before) / seconds)
}

// finite returns v, or 0 if v is NaN or infinite, which JSON cannot encode.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// appendNumber appends v with up to four decimals. It takes a fifth of the time of
// strconv.AppendFloat, and a history may have a million numbers.
func appendNumber(b []byte, v float64) []byte {
	const scale = 10_000
	if v = finite(v); v < 0 || v > math.MaxInt64/scale/2 {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	n := int64(math.Round(v * scale))
	b = strconv.AppendInt(b, n/scale, 10)
	fraction := n % scale
	if fraction == 0 {
		return b
	}
	b = append(b, '.')
	for unit := int64(scale / 10); fraction > 0; unit /= 10 {
		b = append(b, byte('0'+fraction/unit))
		fraction %= unit
	}
	return b
}
