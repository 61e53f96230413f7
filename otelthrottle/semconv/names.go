package semconv

import "go.opentelemetry.io/otel/attribute"

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
	MetricPolicyState          = "throttle.policy.state"
	MetricPolicyBackground     = "throttle.policy.background"
	MetricSlowCalls            = "throttle.slow.calls"
	MetricSlowLimit            = "throttle.slow.limit"
	MetricSlowOpen             = "throttle.slow.open"
	MetricSlowThreshold        = "throttle.slow.threshold"
	MetricSlowOldest           = "throttle.slow.oldest"
	MetricSlowFull             = "throttle.slow.full"
	MetricMode                 = "throttle.mode"
	MetricCallsExempt          = "throttle.calls.exempt"
	MetricOverloads            = "throttle.overloads"
	MetricLoadSent             = "throttle.load.sent"
	MetricLoadReceived         = "throttle.load.received"
	MetricLoadState            = "throttle.load.state"
	MetricTenantsAbove         = "throttle.tenants.above"
	MetricTenantsLargest       = "throttle.tenants.largest"
	MetricTenantsSheds         = "throttle.tenants.sheds"

	MetricProcessorWait        = "throttle.processor.wait"
	MetricProcessorAim         = "throttle.processor.aim"
	MetricProcessorRunnable    = "throttle.processor.runnable"
	MetricProcessorShare       = "throttle.processor.share"
	MetricProcessorProbability = "throttle.processor.probability"

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
	MetricBucketLimit         = "throttle.bucket.limit"
	MetricBucketCapacity      = "throttle.bucket.capacity"
	MetricBucketStoreDuration = "throttle.bucket.store.duration"

	MetricBackoffDelay         = "throttle.backoff.delay"
	MetricBackoffSteps         = "throttle.backoff.steps"
	MetricBackoffCalls         = "throttle.backoff.calls"
	MetricBackoffWaiting       = "throttle.backoff.waiting"
	MetricBackoffSleepDuration = "throttle.backoff.sleep.duration"

	MetricRetries       = "throttle.retries"
	MetricRetryCalls    = "throttle.retry.calls"
	MetricRetryBudget   = "throttle.retry.budget"
	MetricRetryArrivals = "throttle.retry.arrivals"

	MetricTunings          = "throttle.tunings"
	MetricControlOverrides = "throttle.control.overrides"
	MetricControlBroken    = "throttle.control.broken"
	MetricControlVersion   = "throttle.control.version"
	MetricControlChanged   = "throttle.control.changed"

	// MetricObjective has the name of the series that rules for many services record.
	MetricObjective = "spillway.objective"
)

// The attributes of metrics, spans and events.
const (
	KeyName        = attribute.Key("throttle.name")
	KeyGroupKey    = attribute.Key("throttle.key") // the key of a throttle in its Group
	KeyPriority    = attribute.Key("throttle.priority")
	KeyDecision    = attribute.Key("throttle.decision")
	KeyOutcome     = attribute.Key("throttle.outcome")
	KeyCause       = attribute.Key("throttle.cause")
	KeyOverloaded  = attribute.Key("throttle.overloaded")   // true on the span of a call that a full backend rejected
	KeyTenantAbove = attribute.Key("throttle.tenant.above") // true on the event of a shed call whose tenant takes more than its share
	KeyErrorType   = attribute.Key("error.type")
	KeyProbability = attribute.Key(MetricRejectionProbability)
	KeyAlert       = attribute.Key("throttle.policy.alert") // the reason of an alert, or none
	KeySlowEvent   = attribute.Key("throttle.slow.event")
	KeySlowSource  = attribute.Key("throttle.slow.source")
	KeyMode        = attribute.Key(MetricMode)
	KeyObjective   = attribute.Key("objective")            // of MetricObjective: success or p99
	KeyLoad        = attribute.Key(MetricLoadState)        // one of the words of load reports
	KeyModeSource  = attribute.Key("throttle.mode.source") // code or override

	KeyBreakerName    = attribute.Key("throttle.breaker.name")
	KeyBreakerState   = attribute.Key("throttle.breaker.state")
	KeyBreakerFailure = attribute.Key("throttle.breaker.failure")
	KeyBreakerTenant  = attribute.Key("throttle.breaker.tenant")
	KeyBreakerKey     = attribute.Key("throttle.breaker.key")

	KeyBucketName   = attribute.Key("throttle.bucket.name")
	KeyBucketResult = attribute.Key("throttle.bucket.result")
	KeyBucketTokens = attribute.Key(MetricBucketTokens)

	KeyBackoffName      = attribute.Key("throttle.backoff.name")
	KeyBackoffDirection = attribute.Key("throttle.backoff.direction")
	KeyBackoffOutcome   = attribute.Key("throttle.backoff.outcome")

	KeyRetryName     = attribute.Key("throttle.retry.name")
	KeyRetryResult   = attribute.Key("throttle.retry.result")
	KeyRetryKind     = attribute.Key("throttle.retry.kind")
	KeyRetryReason   = attribute.Key("throttle.retry.reason")
	KeyRetryAttempts = attribute.Key("throttle.retry.attempts") // of a call
	KeyRetryAttempt  = attribute.Key("throttle.retry.attempt")  // the number of one

	KeyTuningKind   = attribute.Key("throttle.tuning.kind") // throttle, breaker, bucket, backoff or retry
	KeyTuningName   = attribute.Key("throttle.tuning.name")
	KeyTuningSource = attribute.Key("throttle.tuning.source")
	KeyTuningResult = attribute.Key("throttle.tuning.result")
)

// The values of KeyDecision.
const (
	DecisionAdmitted   = "admitted"
	DecisionShed       = "shed"
	DecisionShadowShed = "shadow_shed"
)

// The values of KeySlowEvent.
const (
	SlowLate        = "late"         // open for Config.Slow
	SlowBooked      = "booked"       // counted as rejected, because it was late or was written off
	SlowWrittenOff  = "written_off"  // open for 10 s, or for 20 times Config.Slow if that is more
	SlowWouldRefuse = "would_refuse" // Config.SlowGate is ModeShadow, and ModeEnforce would have refused it
)

// The values of KeyLoad.
const (
	LoadCalm       = "calm"       // hardly any report says that the backend is overloaded
	LoadMixed      = "mixed"      // the replicas of the backend differ
	LoadOverloaded = "overloaded" // most reports say so
	LoadDoubted    = "doubted"    // the backend rejects far fewer calls than it says: its reports have no effect
)

// The values of KeySlowSource.
const (
	SlowConfigured = "configured" // Config.Slow
	SlowLearned    = "learned"    // by a throttle that serves calls, or with Config.SlowAuto
)

// The values of KeyObjective.
const (
	ObjectiveSuccess = "success" // a share
	ObjectiveP99     = "p99"     // seconds
)

// The values of KeyModeSource.
const (
	ModeOfCode     = "code"
	ModeOfOverride = "override"
)

// The values of KeyBucketResult.
const (
	ResultGranted      = "granted"
	ResultDenied       = "denied"
	ResultFailedOpen   = "failed_open"
	ResultFailedClosed = "failed_closed"
	ResultShareGranted = "share_granted"
	ResultShareDenied  = "share_denied"
)

// The values of KeyBackoffDirection.
const (
	DirectionUp   = "up"
	DirectionDown = "down"
)

// The values of KeyRetryResult.
const (
	RetrySent   = "sent"
	RetryDenied = "denied"
)

// The values of KeyRetryKind, which retries that were sent have.
const (
	RetryAgain = "retry" // after an attempt that failed
	RetryHedge = "hedge" // beside an attempt that takes long
)
