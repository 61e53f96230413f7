package fairness

import (
	"math"
	"testing"
)

func TestBucketOf_outOfRange(t *testing.T) {
	if bucketOf(0, 0) != 0 || bucketOf(math.Inf(1), 0) != numBuckets-1 {
		t.Error("numbers out of range must be in the first and last bucket")
	}
}
