package otelthrottle

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/throttle"
)

// bucketLabels are the attributes of the series of one source of limiters, made once.
type bucketLabels struct {
	name      string
	constants []attribute.KeyValue

	source                                    []metric.ObserveOption
	granted, denied, failedOpen, failedClosed []metric.ObserveOption

	record [throttle.NumFaults]atomic.Pointer[[]metric.RecordOption]
}

func newBucketLabels(name string, constants []attribute.KeyValue) *bucketLabels {
	l := &bucketLabels{name: name, constants: constants}
	observe := func(own ...attribute.KeyValue) []metric.ObserveOption {
		return []metric.ObserveOption{metric.WithAttributeSet(l.set(own...))}
	}
	l.source = observe()
	l.granted = observe(KeyBucketResult.String(ResultGranted))
	l.denied = observe(KeyBucketResult.String(ResultDenied))
	l.failedOpen = observe(KeyBucketResult.String(ResultFailedOpen))
	l.failedClosed = observe(KeyBucketResult.String(ResultFailedClosed))
	return l
}

// set returns the attributes of a series that has these, beside those that are on everything.
func (l *bucketLabels) set(own ...attribute.KeyValue) attribute.Set {
	kv := append(slices.Clone(l.constants), KeyBucketName.String(l.name))
	return attribute.NewSet(append(kv, own...)...)
}

// recordOptions returns the options with which to record a question to the store that ended so.
func (l *bucketLabels) recordOptions(f throttle.Fault) []metric.RecordOption {
	cell := &l.record[f]
	if options := cell.Load(); options != nil {
		return *options
	}
	options := []metric.RecordOption{metric.WithAttributeSet(l.set(errorAttributes(f)...))}
	cell.Store(&options)
	return options
}

// errorAttributes are the error.type of a fault, or nothing if there was none.
func errorAttributes(f throttle.Fault) []attribute.KeyValue {
	if kind := errorType(f); kind != "" {
		return []attribute.KeyValue{KeyErrorType.String(kind)}
	}
	return nil
}
