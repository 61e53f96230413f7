package otelthrottle

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/throttle"
)

// labels are the attributes of one source, made once each: to make them on a call, or anew at every collection, would cost
// more than everything else.
type labels struct {
	name      string
	constants []attribute.KeyValue

	mu      sync.Mutex
	observe map[labelKey][]metric.ObserveOption

	record   [throttle.MaxPriorities][throttle.NumOutcomes][throttle.NumFaults]atomic.Pointer[[]metric.RecordOption]
	outcomes [throttle.NumOutcomes][throttle.NumFaults]atomic.Pointer[[]attribute.KeyValue]
	spans    [throttle.MaxPriorities]atomic.Pointer[spanStart]
}

// labelKey is all that tells the series of a source apart.
type labelKey struct {
	kind     labelKind
	priority throttle.Priority
	decision string
	outcome  throttle.Outcome
	fault    throttle.Fault
	cause    throttle.Cause
}

// labelKind says which of a labelKey's fields become attributes.
type labelKind uint8

const (
	bySource labelKind = iota
	byPriority
	byOutcome          // and fault
	byDecision         // and outcome and fault
	byDecisionAndCause // and outcome and fault
)

func newLabels(name string, constants []attribute.KeyValue) *labels {
	return &labels{name: name, constants: constants, observe: map[labelKey][]metric.ObserveOption{}}
}

// labelName makes a throttle's name fit for exporters, of which some refuse everything over one name that is not UTF-8.
func labelName(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// errorType is the value of error.type for a fault; an empty one is left out.
func errorType(f throttle.Fault) string {
	switch f {
	case throttle.FaultNone:
		return ""
	case throttle.FaultOther:
		return errorTypeOther
	}
	return f.String()
}

// outcomeAttributes say how a call ended. They must not be changed.
func (l *labels) outcomeAttributes(o throttle.Outcome, f throttle.Fault) []attribute.KeyValue {
	cell := &l.outcomes[o][f]
	if kv := cell.Load(); kv != nil {
		return *kv
	}
	kv := []attribute.KeyValue{KeyOutcome.String(o.String())}
	if kind := errorType(f); kind != "" {
		kv = append(kv, KeyErrorType.String(kind))
	}
	cell.Store(&kv)
	return kv
}

// set returns the attributes that k stands for, and those that are on everything.
func (l *labels) set(k labelKey) attribute.Set {
	kv := append(slices.Clone(l.constants), KeyName.String(l.name))
	if k.kind >= byPriority {
		kv = append(kv, KeyPriority.String(k.priority.String()))
	}
	if k.kind >= byOutcome {
		kv = append(kv, l.outcomeAttributes(k.outcome, k.fault)...)
	}
	if k.kind >= byDecision {
		kv = append(kv, KeyDecision.String(k.decision))
	}
	if k.kind >= byDecisionAndCause {
		kv = append(kv, KeyCause.String(k.cause.String()))
	}
	return attribute.NewSet(kv...)
}

// observeOptions returns the options with which to observe the series k.
func (l *labels) observeOptions(k labelKey) []metric.ObserveOption {
	l.mu.Lock()
	defer l.mu.Unlock()
	options, ok := l.observe[k]
	if !ok {
		options = []metric.ObserveOption{metric.WithAttributeSet(l.set(k))}
		l.observe[k] = options
	}
	return options
}

// recordOptions returns the options with which to record a call.
func (l *labels) recordOptions(p throttle.Priority, o throttle.Outcome, f throttle.Fault) []metric.RecordOption {
	cell := &l.record[p][o][f]
	if options := cell.Load(); options != nil {
		return *options
	}
	options := []metric.RecordOption{metric.WithAttributeSet(l.set(labelKey{kind: byOutcome, priority: p, outcome: o, fault: f}))}
	cell.Store(&options)
	return options
}
