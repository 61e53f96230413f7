package otelthrottle

import (
	"github.com/spillway-go/spillway/throttle"
	"go.opentelemetry.io/otel/attribute"
)

// ScopeName is the instrumentation scope of everything that this package emits.
const ScopeName = "github.com/spillway-go/spillway/otelthrottle"

// Version is the version of the instrumentation scope, which is Spillway's.
const Version = throttle.Version

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

// ownKeys are all of these attributes. They are the schema's to give: an error.type that the user gave would be on successes too.
func ownKeys() []attribute.Key {
	return []attribute.Key{
		KeyName, KeyPriority, KeyDecision, KeyOutcome, KeyCause, KeyErrorType, KeyProbability,
		KeyBreakerName, KeyBreakerState, KeyBreakerFailure, KeyBreakerTenant, KeyBreakerKey,
		KeyBucketName, KeyBucketResult, KeyBucketTokens, KeyBucketRetryAfter, KeyBucketSource, KeyBucketDuration,
		KeyBackoffName, KeyBackoffDirection, KeyBackoffOutcome, KeyBackoffDuration,
	}
}

// The decisions, as KeyDecision has them.
const (
	DecisionAdmitted   = "admitted"
	DecisionShed       = "shed"
	DecisionShadowShed = "shadow_shed"
)

// The results of requests for tokens, as KeyBucketResult has them.
const (
	ResultGranted      = "granted"
	ResultDenied       = "denied"
	ResultFailedOpen   = "failed_open"
	ResultFailedClosed = "failed_closed"
)

// The directions of the steps of a delay, as KeyBackoffDirection has them.
const (
	DirectionUp   = "up"
	DirectionDown = "down"
)

// The events on the caller's span that tell of a call that was shed, by a throttle or by a breaker, of tokens that were denied, of
// those that were waited for, and of a call that a backoff let wait.
const (
	EventShed         = "throttle.shed"
	EventBreakerShed  = "throttle.breaker.shed"
	EventBucketDenied = "throttle.bucket.denied"
	EventBucketWaited = "throttle.bucket.waited"
	EventBackoffSlept = "throttle.backoff.slept"
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
	unitToken      = "{token}"
	unitStep       = "{step}"
	unitRatio      = "1"
	unitLeader     = "1"
	unitSecond     = "s"
)
