package otelthrottle

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// attributes are those that all series of one source have, with a cache of those of each series. To build them on each call, or
// at each collection, would cost more than everything else.
type attributes struct {
	all []attribute.KeyValue // the common ones and the name

	mu    sync.Mutex
	cache map[cacheKey][]metric.ObserveOption

	faults [numFaults]atomic.Pointer[[]metric.RecordOption]
}

// cacheKey identifies the attributes of a series of a source. Rows with the same keys share theirs.
type cacheKey struct {
	shape  int
	values [maxKeys]string
}

// maxKeys is the highest number of keys that a row has.
const maxKeys = 5

func newAttributes(common []attribute.KeyValue, own ...attribute.KeyValue) *attributes {
	return &attributes{all: slices.Concat(common, own), cache: map[cacheKey][]metric.ObserveOption{}}
}

// base returns a itself. A type that embeds it has more attributes.
func (a *attributes) base() *attributes { return a }

func (a *attributes) option(own ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(slices.Concat(a.all, own)...))
}

// cached returns the options to observe a series of a row of that shape.
func (a *attributes) cached(shape int, keys []attribute.Key, values []string) []metric.ObserveOption {
	k := cacheKey{shape: shape}
	copy(k.values[:], values)
	a.mu.Lock()
	defer a.mu.Unlock()
	options, ok := a.cache[k]
	if !ok {
		var own []attribute.KeyValue
		for i, value := range values {
			if value != "" {
				own = append(own, keys[i].String(value))
			}
		}
		options = []metric.ObserveOption{a.option(own...)}
		a.cache[k] = options
	}
	return options
}

func (a *attributes) ofFault(f throttle.Fault) []metric.RecordOption {
	return cellOptions(&a.faults[f], func() metric.RecordOption { return a.option(errorAttributes(f)...) })
}

// cellOptions returns the options of a cell, which it fills first if it is empty.
func cellOptions(cell *atomic.Pointer[[]metric.RecordOption], option func() metric.RecordOption) []metric.RecordOption {
	if options := cell.Load(); options != nil {
		return *options
	}
	options := []metric.RecordOption{option()}
	cell.Store(&options)
	return options
}

// validName replaces what is not UTF-8 in a name. Some exporters refuse a whole collection because
// of one invalid string.
func validName(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// errorType returns the error.type of a fault, empty for none.
func errorType(f throttle.Fault) string {
	switch f {
	case throttle.FaultNone:
		return ""
	case throttle.FaultOther:
		return errorTypeOther
	}
	return f.String()
}

func errorAttributes(f throttle.Fault) []attribute.KeyValue {
	if kind := errorType(f); kind != "" {
		return []attribute.KeyValue{semconv.KeyErrorType.String(kind)}
	}
	return nil
}
