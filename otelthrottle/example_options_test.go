package otelthrottle_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// Options for the spans of jobs: they have no request around them, and the pings of a health check are left out.
func ExampleNew_spans() {
	spans := tracetest.NewSpanRecorder()
	tel, err := otelthrottle.New(
		otelthrottle.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))),
		otelthrottle.WithRootSpans(),
		otelthrottle.WithAttributes(attribute.String("team", "mail")),
		otelthrottle.WithFilter(func(_ context.Context, name string, _ throttle.Priority) bool { return name != "ping" }),
		otelthrottle.WithSpanNameFormatter(func(name string, _ throttle.Priority) string { return "call " + name }),
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range strings.Fields("orders ping") {
		th := throttle.Must(throttle.New(throttle.Config{Name: name, Hooks: tel.Hooks()}))
		_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })
	}
	for _, span := range spans.Ended() {
		fmt.Println(span.Name(), span.Attributes()[0].Value.AsString())
	}
	// Output: call orders mail
}
