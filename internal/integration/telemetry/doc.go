// Package telemetry shows throttles beside OpenTelemetry's own instrumentation, as services have both. It is tests only, because what it
// needs is nobody's requirement.
package telemetry
