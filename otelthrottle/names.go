package otelthrottle

import (
	"github.com/spillway-go/spillway/throttle"
	"go.opentelemetry.io/otel/attribute"
)

// ScopeName is the instrumentation scope of all metrics and spans of this package.
const ScopeName = "github.com/spillway-go/spillway/otelthrottle"

// Version is the version of the instrumentation scope, which is that of Spillway.
const Version = throttle.Version

// The metrics. Dashboards and rules are tested against the names in this file.
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

	MetricBucketRequests      = "throttle.bucket.requests"
	MetricBucketTokens        = "throttle.bucket.tokens"
	MetricBucketWaiting       = "throttle.bucket.waiting"
	MetricBucketStoreDuration = "throttle.bucket.store.duration"

	MetricBackoffDelay         = "throttle.backoff.delay"
	MetricBackoffSteps         = "throttle.backoff.steps"
	MetricBackoffCalls         = "throttle.backoff.calls"
	MetricBackoffWaiting       = "throttle.backoff.waiting"
	MetricBackoffSleepDuration = "throttle.backoff.sleep.duration"
)

// The attributes of metrics, spans and events.
const (
	KeyName        = attribute.Key("throttle.name")
	KeyGroupKey    = attribute.Key("throttle.key") // the key of a throttle in its Group
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

	KeyBucketName       = attribute.Key("throttle.bucket.name")
	KeyBucketResult     = attribute.Key("throttle.bucket.result")
	KeyBucketTokens     = attribute.Key(MetricBucketTokens)
	KeyBucketRetryAfter = attribute.Key("throttle.bucket.retry_after")
	KeyBucketSource     = attribute.Key("throttle.bucket.source")
	KeyBucketDuration   = attribute.Key("throttle.bucket.duration")

	KeyBackoffName      = attribute.Key("throttle.backoff.name")
	KeyBackoffDirection = attribute.Key("throttle.backoff.direction")
	KeyBackoffOutcome   = attribute.Key("throttle.backoff.outcome")
	KeyBackoffDuration  = attribute.Key("throttle.backoff.duration")
)

// ownKeys returns all of these attributes. WithAttributes leaves them out: with an error.type of
// the user, for example, successes would have one too.
func ownKeys() []attribute.Key {
	return []attribute.Key{
		KeyName, KeyGroupKey, KeyPriority, KeyDecision, KeyOutcome, KeyCause, KeyErrorType, KeyProbability,
		KeyBreakerName, KeyBreakerState, KeyBreakerFailure, KeyBreakerTenant, KeyBreakerKey,
		KeyBucketName, KeyBucketResult, KeyBucketTokens, KeyBucketRetryAfter, KeyBucketSource, KeyBucketDuration,
		KeyBackoffName, KeyBackoffDirection, KeyBackoffOutcome, KeyBackoffDuration,
	}
}

// The values of KeyDecision.
const (
	DecisionAdmitted   = "admitted"
	DecisionShed       = "shed"
	DecisionShadowShed = "shadow_shed"
)

// The values of KeyBucketResult.
const (
	ResultGranted      = "granted"
	ResultDenied       = "denied"
	ResultFailedOpen   = "failed_open"
	ResultFailedClosed = "failed_closed"
)

// The values of KeyBackoffDirection.
const (
	DirectionUp   = "up"
	DirectionDown = "down"
)

// The events on the caller's span.
const (
	EventShed         = "throttle.shed"         // a throttle shed a call
	EventBreakerShed  = "throttle.breaker.shed" // a breaker shed a call
	EventBucketDenied = "throttle.bucket.denied"
	EventBucketWaited = "throttle.bucket.waited"
	EventBackoffSlept = "throttle.backoff.slept"
)

const (
	// errorTypeOther is the error.type of errors without a kind, by the semantic conventions.
	errorTypeOther = "_OTHER"
	// otherKeys is the throttle.key of all throttles beyond the limit of WithGroupDetail.
	otherKeys = "_OTHER"
)

// Units, in the notation of UCUM.
const (
	unitCall       = "{call}"
	unitRequest    = "{request}"
	unitCircuit    = "{circuit}"
	unitTransition = "{transition}"
	unitFailure    = "{failure}"
	unitToken      = "{token}"
	unitStep       = "{step}"
	unitRatio      = "1"
	unitLeader     = "1"
	unitSecond     = "s"
)
