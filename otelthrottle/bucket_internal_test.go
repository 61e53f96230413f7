package otelthrottle

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/metric"
)

// TestTokensBeyondAnInt64 stay at the highest there is, and do not become negative.
func TestTokensBeyondAnInt64(t *testing.T) {
	tel, _ := adapter(t)
	r := bucketReport{instruments: &tel.instruments.buckets, attributes: newBucketAttributes("geocoder", nil)}
	for n, want := range map[uint64]int64{0: 0, 7: 7, math.MaxInt64: math.MaxInt64, math.MaxInt64 + 1: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		var o lastObserved
		r.to = &o
		r.observe(r.instruments.tokens, n, r.attributes.source)
		if o.value != want {
			t.Errorf("%d tokens: got %d want %d", n, o.value, want)
		}
	}
}

// lastObserved keeps the last observed value.
type lastObserved struct {
	metric.Observer
	value int64
}

func (o *lastObserved) ObserveInt64(_ metric.Int64Observable, value int64, _ ...metric.ObserveOption) {
	o.value = value
}
