package otelthrottle

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// TestCount_beyondAnInt64 stays at the highest there is, and does not become negative.
func TestCount_beyondAnInt64(t *testing.T) {
	for n, want := range map[uint64]int64{0: 0, 7: 7, math.MaxInt64: math.MaxInt64, math.MaxInt64 + 1: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		var o lastObserved
		to := output{to: &o, attributes: newAttributes(nil), instrument: noop.Int64ObservableCounter{}}
		to.count(n)
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
