package otelthrottle

import "go.opentelemetry.io/otel/attribute"

// ScopeName is the instrumentation scope of everything that this package emits.
const ScopeName = "github.com/spillway-go/spillway/otelthrottle"

// Version is the version of the instrumentation scope.
const Version = "0.1.0"

// The metrics. Every name that this package emits stands in this file; dashboards and rules are checked against it.
const (
	MetricCalls                = "throttle.calls"
	MetricCallDuration         = "throttle.call.duration"
	MetricCallActive           = "throttle.call.active"
	MetricRejectionProbability = "throttle.rejection_probability"
	MetricWindowRequests       = "throttle.window.requests"
	MetricWindowAccepts        = "throttle.window.accepts"
	MetricFallbacks            = "throttle.fallbacks"
	MetricPriorityClamped      = "throttle.priority.clamped"

	MetricBreakerCircuits    = "throttle.breaker.circuits"
	MetricBreakerCircuit     = "throttle.breaker.circuit"
	MetricBreakerTransitions = "throttle.breaker.transitions"
	MetricBreakerCalls       = "throttle.breaker.calls"
	MetricBreakerSnapshotAge = "throttle.breaker.snapshot.age"
	MetricBreakerLeader      = "throttle.breaker.leader"
	MetricBreakerFailures    = "throttle.breaker.failures"
)

// The attributes of metrics and spans.
const (
	KeyName        = attribute.Key("throttle.name")
	KeyPriority    = attribute.Key("throttle.priority")
	KeyDecision    = attribute.Key("throttle.decision")
	KeyOutcome     = attribute.Key("throttle.outcome")
	KeyCause       = attribute.Key("throttle.cause")
	KeyErrorType   = attribute.Key("error.type")
	KeyProbability = attribute.Key(MetricRejectionProbability)

	KeyBreakerName    = attribute.Key("throttle.breaker.name")
	KeyBreakerState   = attribute.Key("throttle.breaker.state")
	KeyBreakerFailure = attribute.Key("throttle.breaker.failure")
	KeyBreakerTenant  = attribute.Key("throttle.breaker.tenant")
	KeyBreakerKey     = attribute.Key("throttle.breaker.key")
)

// The decisions, as KeyDecision has them.
const (
	DecisionAdmitted   = "admitted"
	DecisionShed       = "shed"
	DecisionShadowShed = "shadow_shed"
)

// The events on the caller's span that tell of a call that was shed, by a throttle or by a breaker.
const (
	EventShed        = "throttle.shed"
	EventBreakerShed = "throttle.breaker.shed"
)

// errorTypeOther is the conventional error.type of errors that have no kind.
const errorTypeOther = "_OTHER"

// Units, after UCUM.
const (
	unitCall       = "{call}"
	unitRequest    = "{request}"
	unitCircuit    = "{circuit}"
	unitTransition = "{transition}"
	unitFailure    = "{failure}"
	unitRatio      = "1"
	unitLeader     = "1"
	unitSecond     = "s"
)
