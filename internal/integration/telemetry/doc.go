// Package telemetry tests throttles together with OpenTelemetry's own instrumentation of HTTP and gRPC.
// The package has only tests, because no other module requires that instrumentation.
package telemetry
