package statusz

import (
	"math"
	"strconv"
)

const (
	// historyLength is how many samples are kept, one per second.
	historyLength = 300
	// historySlack is how many more a series holds before its front is cut off.
	historySlack = 20
)

// series is one figure, once per second. A series that is nil has been nothing but 0. What was pushed is never changed, so that a
// slice of it can be read while the series grows.
type series []float32

// push returns the series with v behind the before samples that it has had. When it is full its front is left behind with the
// old array.
func (s series) push(v float32, before int) series {
	if s == nil {
		if v == 0 {
			return nil
		}
		s = make(series, min(before, historyLength-1), historyLength+historySlack)
	}
	if len(s) < cap(s) {
		return append(s, v)
	}
	recent := s[len(s)-historyLength+1:]
	if v == 0 && recent.isZero() {
		return nil
	}
	return append(append(make(series, 0, historyLength+historySlack), recent...), v)
}

// recent returns the samples that are shown.
func (s series) recent() series { return s[max(0, len(s)-historyLength):] }

func (s series) isZero() bool {
	for _, v := range s {
		if v != 0 {
			return false
		}
	}
	return true
}

// short rounds a rate to what a person can use, so that it is short in JSON: to tenths below 1,000. Samples are not quite a second
// apart, and five calls should not be 4.99 per second.
func short(v float64) float32 {
	if v < 1000 {
		return float32(math.Round(v*10) / 10)
	}
	return float32(math.Round(v))
}

// rate is what came per second. A counter that fell, or no time that passed, is no rate.
func rate(before, now uint64, seconds float64) float64 {
	if now <= before || !(seconds > 0) {
		return 0
	}
	return finite(float64(now-before) / seconds)
}

// finite is v, or 0 if v is no number to show: JSON has none for infinity.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// appendNumber appends v with up to four decimals. It is a fifth of the cost of strconv.AppendFloat, and a history may have a million of
// them.
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
