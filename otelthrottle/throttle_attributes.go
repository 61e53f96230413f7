package otelthrottle

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// The numbers of words that enumerations of package throttle have. A test compares them.
const (
	numOutcomes = throttle.Shed + 1
	numFaults   = throttle.FaultOther + 1
	numAlerts   = throttle.TrialAlert + 1
)

// throttleAttributes are the attributes of the series and spans of one source of throttles.
type throttleAttributes struct {
	*attributes
	name   string
	common []attribute.KeyValue

	record   [throttle.MaxPriorities][numOutcomes][numFaults]atomic.Pointer[[]metric.RecordOption]
	outcomes [numOutcomes][numFaults]atomic.Pointer[[]attribute.KeyValue]
	spans    [throttle.MaxPriorities]atomic.Pointer[spanStart]
}

// newThrottleAttributes returns the attributes of a name. Key is that in its group, only with detail.
func newThrottleAttributes(name, key string, common []attribute.KeyValue) *throttleAttributes {
	own := []attribute.KeyValue{semconv.KeyName.String(name)}
	if key != "" {
		own = append(own, semconv.KeyGroupKey.String(key))
	}
	return &throttleAttributes{attributes: newAttributes(common, own...), name: name, common: common}
}

// outcomeAttributes returns the attributes of a call that ended. The caller must not change them.
func (a *throttleAttributes) outcomeAttributes(o throttle.Outcome, f throttle.Fault) []attribute.KeyValue {
	cell := &a.outcomes[o][f]
	if kv := cell.Load(); kv != nil {
		return *kv
	}
	kv := append([]attribute.KeyValue{semconv.KeyOutcome.String(o.String())}, errorAttributes(f)...)
	cell.Store(&kv)
	return kv
}

// recordOptions returns the options to record the duration of a call.
func (a *throttleAttributes) recordOptions(p throttle.Priority, o throttle.Outcome, f throttle.Fault) []metric.RecordOption {
	return cellOptions(&a.record[p][o][f], func() metric.RecordOption {
		return a.option(append([]attribute.KeyValue{semconv.KeyPriority.String(p.String())}, a.outcomeAttributes(o, f)...)...)
	})
}
