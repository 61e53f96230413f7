package otelthrottle

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// ScopeName is the instrumentation scope of all metrics and spans of this package.
const ScopeName = "github.com/spillway-go/spillway/otelthrottle"

// Version is the version of the instrumentation scope, which is that of Spillway.
const Version = throttle.Version

// The events on the caller's span.
const (
	eventShed         = "throttle.shed"           // a throttle shed a call
	eventPolicy       = "throttle.policy.changed" // an alert began or ended
	eventBreakerShed  = "throttle.breaker.shed"   // a breaker shed a call
	eventBucketDenied = "throttle.bucket.denied"
	eventBucketWaited = "throttle.bucket.waited"
	eventBackoffSlept = "throttle.backoff.slept"
	eventRetryDenied  = "throttle.retry.denied"
	eventTuned        = "throttle.tuned" // settings were changed by a Control
)

// The attributes that only events have.
const (
	keyBucketRetryAfter = attribute.Key("throttle.bucket.retry_after")
	keyBucketSource     = attribute.Key("throttle.bucket.source")
	keyBucketDuration   = attribute.Key("throttle.bucket.duration")
	keyBackoffDuration  = attribute.Key("throttle.backoff.duration")
	keyBackground       = attribute.Key(semconv.MetricPolicyBackground)
	keyTuningValues     = attribute.Key("throttle.tuning.values")
	keyTuningBy         = attribute.Key("throttle.tuning.by")
	keyTuningReason     = attribute.Key("throttle.tuning.reason")
)

// isOwn reports whether a key belongs to this package. Users cannot set these: with an error.type of the user, for
// example, successes would have one too.
func isOwn(key attribute.Key) bool {
	return key == semconv.KeyErrorType || key == semconv.KeyObjective || strings.HasPrefix(string(key), "throttle.")
}

const (
	// errorTypeOther is the error.type of errors without a kind, by the semantic conventions.
	errorTypeOther = "_OTHER"
	// otherKeys is the throttle.key of all throttles beyond the limit of WithGroupDetail.
	otherKeys = "_OTHER"
)
