package shop

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Totals are the counts since the shop was made.
type Totals struct {
	At    time.Time
	Kinds [throttle.StandardPriorities]KindTotals
	Sent  uint64 // calls that reached the backend
	Twin  backendTotals
}

// KindTotals are the counts of one kind of call. A call in flight is counted as offered only.
type KindTotals struct {
	Offered  uint64
	Served   uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by the throttle
	Cached   uint64 // rejected or shed, and answered from the cache
	waits
}

// Totals returns the current counts.
func (s *Shop) Totals() Totals {
	s.counting.Lock()
	t := Totals{At: time.Now(), Kinds: s.kinds}
	s.counting.Unlock()
	t.Sent, t.Twin = s.backend.counts().taken, s.twin.counts()
	return t
}

// Sum returns the counts of all kinds together.
func (t *Totals) Sum() KindTotals {
	var sum KindTotals
	for _, k := range t.Kinds {
		sum.Offered += k.Offered
		sum.Served += k.Served
		sum.Rejected += k.Rejected
		sum.Shed += k.Shed
		sum.Cached += k.Cached
	}
	return sum
}

// Meter computes rates from the Totals of a shop. Use [NewMeter]. It is not safe for concurrent
// use.
type Meter struct {
	shop *Shop
	span time.Duration
	past []Totals // oldest first; the first is about as old as the span
}

// NewMeter returns a meter whose samples cover span, and begin no earlier than now. With a span of
// 0 a sample begins at the last Read.
func NewMeter(s *Shop, span time.Duration) *Meter {
	return &Meter{shop: s, span: span, past: []Totals{s.Totals()}}
}

// Read returns a sample that ends now. It can be up to a tenth shorter than the span, because the
// caller does not read at exact times.
func (m *Meter) Read() Sample {
	now := m.shop.Totals()
	for len(m.past) > 1 && now.At.Sub(m.past[1].At) >= m.span*9/10 {
		m.past = m.past[1:]
	}
	s := m.shop.sample(&m.past[0], &now)
	m.past = append(m.past, now)
	return s
}

// sample returns the rates between two Totals.
func (s *Shop) sample(from, to *Totals) Sample {
	span := to.At.Sub(from.At)
	perSecond := func(from, to uint64) float64 {
		if span <= 0 {
			return 0
		}
		return float64(to-from) / span.Seconds()
	}
	before, after := from.Sum(), to.Sum()
	sample := Sample{
		At: to.At, Span: span, Settings: s.Settings(),
		Offered: perSecond(before.Offered, after.Offered),
		Sent:    perSecond(from.Sent, to.Sent),
		Served:  perSecond(before.Served, after.Served),
		Shed:    perSecond(before.Shed, after.Shed),
		Twin:    TwinSample{Served: perSecond(from.Twin.served, to.Twin.served), Latency: to.Twin.since(from.Twin.waits)},
	}
	sample.Available = sample.Settings.Available()
	possible := min(sample.Offered, sample.Available)
	sample.Goodput = newRatio(sample.Served, possible)
	sample.Twin.Goodput = newRatio(sample.Twin.Served, possible)
	stats := s.Throttle().Stats()
	sample.Slow = Milliseconds(stats.Slow.Slow.Seconds() * 1000)
	for i, kind := range Kinds() {
		a, b := from.Kinds[i], to.Kinds[i]
		served, ended := b.Served-a.Served, b.Served+b.Rejected+b.Shed-a.Served-a.Rejected-a.Shed
		sample.Kinds = append(sample.Kinds, KindSample{
			Kind: kind.Name, Priority: kind.Priority.String(),
			Offered: perSecond(a.Offered, b.Offered), Served: perSecond(a.Served, b.Served),
			Success: newRatio(float64(served), float64(ended)),
			Shed:    perSecond(a.Shed, b.Shed), Cached: perSecond(a.Cached, b.Cached),
			Latency:     b.since(a.waits),
			Probability: stats.Priorities[i].Probability, InFlight: stats.Priorities[i].InFlight,
		})
	}
	return sample
}

// Sample has the figures of a span of time. Rates are calls per second.
type Sample struct {
	At        time.Time     `json:"-"` // the end of the span
	Span      time.Duration `json:"-"` // its length
	Offered   float64       `json:"offered"`
	Sent      float64       `json:"sent"` // to the backend, which excludes shed calls
	Served    float64       `json:"served"`
	Shed      float64       `json:"shed"`
	Available float64       `json:"available"` // that the backend could serve
	Goodput   Ratio         `json:"goodput"`   // Served, as a part of the smaller of Offered and Available
	Twin      TwinSample    `json:"twin"`
	Kinds     []KindSample  `json:"kinds"` // by priority
	Slow      Milliseconds  `json:"slow"`  // the Slow of the throttle
	Settings  Settings      `json:"settings"`
}

// TwinSample has the figures of the backend without a throttle.
type TwinSample struct {
	Served  float64      `json:"served"`
	Goodput Ratio        `json:"goodput"`
	Latency Milliseconds `json:"latency"`
}

// KindSample has the figures of one kind of call.
type KindSample struct {
	Kind        string  `json:"kind"`
	Priority    string  `json:"priority"`
	Offered     float64 `json:"offered"`
	Served      float64 `json:"served"`
	Success     Ratio   `json:"success"` // served by the backend, as a part of the calls that have ended
	Shed        float64 `json:"shed"`
	Cached      float64 `json:"cached"`
	Probability float64 `json:"probability"` // of shedding the next call; computed also while the throttle is off
	InFlight    int64   `json:"in_flight"`
	// Latency is how long calls waited for an answer or for their timeout, on average.
	Latency Milliseconds `json:"latency"`
}

// Ratio is a part of a whole, 0 to 1. It is NaN if the whole is 0, and null in JSON.
type Ratio float64

// newRatio returns part/whole, at most 1. Saved up work can make the part larger than the whole.
func newRatio(part, whole float64) Ratio {
	if whole <= 0 {
		return Ratio(math.NaN())
	}
	return Ratio(min(1, part/whole))
}

// Milliseconds is a duration in milliseconds. It is NaN if there was no call, and null in JSON.
type Milliseconds float64

// MarshalJSON writes the number with one digit, or null.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(m)) {
		return []byte("null"), nil
	}
	return json.Marshal(rounded(float64(m), 10))
}

// Known reports whether the ratio is a number.
func (r Ratio) Known() bool { return !math.IsNaN(float64(r)) }

// MarshalJSON writes the number with four digits, or null.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if !r.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(rounded(float64(r), 1e4))
}

func rounded(x, digits float64) float64 { return math.Round(x*digits) / digits }

// MarshalJSON writes the sample for the page, with rounded numbers to keep it small.
func (s Sample) MarshalJSON() ([]byte, error) {
	rates := []*float64{&s.Offered, &s.Sent, &s.Served, &s.Shed, &s.Available, &s.Twin.Served}
	s.Kinds = slices.Clone(s.Kinds)
	for i := range s.Kinds {
		k := &s.Kinds[i]
		rates = append(rates, &k.Offered, &k.Served, &k.Shed, &k.Cached)
		k.Probability = rounded(k.Probability, 1e4)
	}
	for _, rate := range rates {
		*rate = rounded(*rate, 10)
	}
	type fields Sample // without this method
	return json.Marshal(struct {
		At int64 `json:"at"` // milliseconds since 1970
		fields
	}{s.At.UnixMilli(), fields(s)})
}
