package shop

import "time"

// Meter measures what happens in a shop over the last while. Make one with [NewMeter]; it is for one goroutine.
type Meter struct {
	shop *Shop
	span time.Duration
	past []Totals // oldest first; the first is about as old as the span
}

// NewMeter returns a meter that looks back over span, but no further than to now. With 0 it looks back to its last reading.
func NewMeter(s *Shop, span time.Duration) *Meter {
	return &Meter{shop: s, span: span, past: []Totals{s.Totals()}}
}

// Read returns what has happened over the span that ends now. Readings are not quite regular, so it may be a little shorter.
func (m *Meter) Read() Sample {
	now := m.shop.Totals()
	for len(m.past) > 1 && now.At.Sub(m.past[1].At) >= m.span*9/10 {
		m.past = m.past[1:]
	}
	s := m.shop.sample(&m.past[0], &now)
	m.past = append(m.past, now)
	return s
}

// sample returns what has happened between two moments.
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
		Twin:    TwinSample{Served: perSecond(from.Twin, to.Twin)},
	}
	sample.Available = sample.Settings.Available()
	possible := min(sample.Offered, sample.Available)
	sample.Goodput = newRatio(sample.Served, possible)
	sample.Twin.Goodput = newRatio(sample.Twin.Served, possible)
	stats := s.Throttle().Stats()
	for i, kind := range Kinds() {
		a, b := from.Kinds[i], to.Kinds[i]
		served, ended := b.Served-a.Served, b.Served+b.Rejected+b.Shed-a.Served-a.Rejected-a.Shed
		sample.Kinds = append(sample.Kinds, KindSample{
			Kind: kind.Name, Priority: kind.Priority.String(),
			Offered: perSecond(a.Offered, b.Offered), Served: perSecond(a.Served, b.Served),
			Success: newRatio(float64(served), float64(ended)),
			Shed:    perSecond(a.Shed, b.Shed), Cached: perSecond(a.Cached, b.Cached),
			Probability: stats.Priorities[i].Probability, InFlight: stats.Priorities[i].InFlight,
		})
	}
	return sample
}
