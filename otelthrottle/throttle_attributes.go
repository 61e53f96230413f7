package otelthrottle

import (
	"slices"
	"sync"
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

// throttleAttributes caches the attributes of the series and spans of one source of throttles. To
// build them on each call, or at each collection, would cost more than everything else.
type throttleAttributes struct {
	name   string
	key    string // in its group, only with detail
	common []attribute.KeyValue

	mu      sync.Mutex
	observe map[seriesKey][]metric.ObserveOption

	record   [throttle.MaxPriorities][numOutcomes][numFaults]atomic.Pointer[[]metric.RecordOption]
	outcomes [numOutcomes][numFaults]atomic.Pointer[[]attribute.KeyValue]
	spans    [throttle.MaxPriorities]atomic.Pointer[spanStart]
}

// seriesKey identifies a series of a source.
type seriesKey struct {
	kind     seriesKind
	priority throttle.Priority
	decision string
	outcome  throttle.Outcome
	fault    throttle.Fault
	cause    throttle.Cause
	alert    throttle.AlertReason
	mode     throttle.Mode
	source   string // of the mode
}

// seriesKind selects which fields of a seriesKey become attributes. Each kind has those of the
// kinds before it, except those after byDecisionAndCause.
type seriesKind uint8

const (
	bySource seriesKind = iota
	byPriority
	byOutcome // and fault
	byDecision
	byDecisionAndCause
	byAlert
	bySlowEvent  // in place of the decision
	bySlowSource // in place of the decision
	byMode
	byLoad // in place of the decision
)

func newThrottleAttributes(name, key string, common []attribute.KeyValue) *throttleAttributes {
	return &throttleAttributes{name: name, key: key, common: common, observe: map[seriesKey][]metric.ObserveOption{}}
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

// set returns the common attributes and those of a series.
func (a *throttleAttributes) set(k seriesKey) attribute.Set {
	kv := append(slices.Clone(a.common), semconv.KeyName.String(a.name))
	if a.key != "" {
		kv = append(kv, semconv.KeyGroupKey.String(a.key))
	}
	if k.kind == byAlert {
		return attribute.NewSet(append(kv, semconv.KeyAlert.String(k.alert.String()))...)
	}
	if k.kind == bySlowSource {
		return attribute.NewSet(append(kv, semconv.KeySlowSource.String(k.decision))...)
	}
	if k.kind == bySlowEvent {
		return attribute.NewSet(append(kv, semconv.KeyPriority.String(k.priority.String()), semconv.KeySlowEvent.String(k.decision))...)
	}
	if k.kind == byMode {
		return attribute.NewSet(append(kv, semconv.KeyMode.String(k.mode.String()), semconv.KeyModeSource.String(k.source))...)
	}
	if k.kind == byLoad {
		return attribute.NewSet(append(kv, semconv.KeyLoad.String(k.decision))...)
	}
	if k.kind >= byPriority {
		kv = append(kv, semconv.KeyPriority.String(k.priority.String()))
	}
	if k.kind >= byOutcome {
		kv = append(kv, a.outcomeAttributes(k.outcome, k.fault)...)
	}
	if k.kind >= byDecision {
		kv = append(kv, semconv.KeyDecision.String(k.decision))
	}
	if k.kind >= byDecisionAndCause {
		kv = append(kv, semconv.KeyCause.String(k.cause.String()))
	}
	return attribute.NewSet(kv...)
}

// observeOptions returns the options to observe a series.
func (a *throttleAttributes) observeOptions(k seriesKey) []metric.ObserveOption {
	a.mu.Lock()
	defer a.mu.Unlock()
	options, ok := a.observe[k]
	if !ok {
		options = []metric.ObserveOption{metric.WithAttributeSet(a.set(k))}
		a.observe[k] = options
	}
	return options
}

// recordOptions returns the options to record the duration of a call.
func (a *throttleAttributes) recordOptions(p throttle.Priority, o throttle.Outcome, f throttle.Fault) []metric.RecordOption {
	cell := &a.record[p][o][f]
	if options := cell.Load(); options != nil {
		return *options
	}
	key := seriesKey{kind: byOutcome, priority: p, outcome: o, fault: f}
	options := []metric.RecordOption{metric.WithAttributeSet(a.set(key))}
	cell.Store(&options)
	return options
}
