package shop

import (
	"encoding/json"
	"math"
	"time"
)

// Sample is what happened in a span of time. Rates are calls per second.
type Sample struct {
	At        time.Time     // the span's end
	Span      time.Duration // its length
	Offered   float64
	Sent      float64 // to the backend, and not shed
	Served    float64
	Shed      float64
	Available float64 // that the backend could serve
	Goodput   Ratio   // what was served, of what could have been
	Twin      TwinSample
	Kinds     []KindSample // by priority
	Settings  Settings
}

// TwinSample is what happened to the backend that has no throttle.
type TwinSample struct {
	Served  float64 `json:"served"`
	Goodput Ratio   `json:"goodput"`
}

// KindSample is what happened to the calls of one kind.
type KindSample struct {
	Kind        string  `json:"kind"`
	Priority    string  `json:"priority"`
	Offered     float64 `json:"offered"`
	Served      float64 `json:"served"`
	Success     Ratio   `json:"success"` // served by the backend, of those that have ended
	Shed        float64 `json:"shed"`
	Cached      float64 `json:"cached"`
	Probability float64 `json:"probability"` // of shedding the next one; while the throttle is off, what it would be
	InFlight    int64   `json:"in_flight"`
}

// Ratio is a part of something, 0 to 1. It is NaN if there was nothing to have a part of, and null in JSON.
type Ratio float64

// newRatio returns which part of the whole that is. Saved up work may make it more than all: that counts as all.
func newRatio(part, whole float64) Ratio {
	if whole <= 0 {
		return Ratio(math.NaN())
	}
	return Ratio(min(1, part/whole))
}

// Known reports whether there was anything to have a part of.
func (r Ratio) Known() bool { return !math.IsNaN(float64(r)) }

// MarshalJSON returns the number with four digits, or null.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if !r.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(rounded(float64(r), 1e4))
}

func rounded(x, digits float64) float64 { return math.Round(x*digits) / digits }

// MarshalJSON returns the sample as the page wants it: small.
func (s Sample) MarshalJSON() ([]byte, error) {
	kinds := make([]KindSample, len(s.Kinds))
	for i, k := range s.Kinds {
		k.Offered, k.Served, k.Shed, k.Cached = rounded(k.Offered, 10), rounded(k.Served, 10), rounded(k.Shed, 10), rounded(k.Cached, 10)
		k.Probability = rounded(k.Probability, 1e4)
		kinds[i] = k
	}
	twin := s.Twin
	twin.Served = rounded(twin.Served, 10)
	return json.Marshal(struct {
		At        int64        `json:"at"` // milliseconds since 1970
		Offered   float64      `json:"offered"`
		Sent      float64      `json:"sent"`
		Served    float64      `json:"served"`
		Shed      float64      `json:"shed"`
		Available float64      `json:"available"`
		Goodput   Ratio        `json:"goodput"`
		Twin      TwinSample   `json:"twin"`
		Kinds     []KindSample `json:"kinds"`
		Settings  Settings     `json:"settings"`
	}{
		s.At.UnixMilli(), rounded(s.Offered, 10), rounded(s.Sent, 10), rounded(s.Served, 10), rounded(s.Shed, 10),
		rounded(s.Available, 10), s.Goodput, twin, kinds, s.Settings,
	})
}
