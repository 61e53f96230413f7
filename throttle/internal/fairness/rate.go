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

// demandOf returns the demand of a bucket.
func demandOf(bucket int) float64 {
	return math.Float64frombits(uint64(bucket+firstBucket) << bucketShift)
}

// fairRate returns the f for which the sum of calls * min(1, f/x) is the share of the calls that is
// served. It is 0 if there are no calls.
func fairRate(calls []float32, served float64) float64 {
	total := 0.0
	for _, n := range calls {
		total += float64(n)
	}
	below, inverse, last := total, 0.0, 0.0
	for b := len(calls) - 1; b >= 0; b-- {
		if calls[b] == 0 {
			continue
		}
		x := demandOf(b)
		if last > 0 && (served*total-below)/inverse >= x {
			break
		}
		below -= float64(calls[b])
		inverse += float64(calls[b]) / x
		last = (served*total - below) / inverse
	}
	if inverse == 0 {
		return 0
	}
	return max(0, served*total-below) / inverse
}
