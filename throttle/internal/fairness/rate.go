package fairness

import "math"

const (
	// The histogram has perOctave buckets for each power of two, from 2^lowest.
	perOctave, lowest, octaves = 4, -6, 28

	numBuckets = perOctave * octaves
	// bucketShift leaves the exponent of a float64 and the first two bits of its mantissa.
	bucketShift = 50
	firstBucket = (1023 + lowest) * perOctave
)

// bucketOf returns the bucket of a demand that is between two buckets: the one below or above it, so that
// the demand is the mean. Coin is random, but its lowest bits may be 0.
func bucketOf(x float64, coin uint64) int {
	bits := math.Float64bits(x) + coin*0x9E3779B97F4A7C15>>(64-bucketShift)
	return max(0, min(int(bits>>bucketShift)-firstBucket, numBuckets-1))
}

func demandOf(bucket int) float64 {
	return math.Float64frombits(uint64(bucket+firstBucket) << bucketShift)
}

// histogram is the number of calls by the demand of their tenants.
type histogram struct {
	calls [numBuckets]float32
	total float64
}

// fairRate returns the f for which the sum of calls * min(1, f/x) is the share of the calls that is
// served. It is 0 if there are too few calls.
func (h *histogram) fairRate(served float64) float64 {
	if h.total < fewCalls {
		return 0
	}
	served *= h.total
	below, inverse := h.total, 0.0
	for b := numBuckets - 1; b >= 0; b-- {
		calls := float64(h.calls[b])
		if calls == 0 {
			continue
		}
		x := demandOf(b)
		if served-below >= x*inverse && served > below {
			break
		}
		below -= calls
		inverse += calls / x
	}
	return max(0, served-below) / inverse
}
