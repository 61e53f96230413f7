package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTracesGoWhereTheEnvironmentSays receives what is sent by OTLP when the telemetry is shut down.
func TestTracesGoWhereTheEnvironmentSays(t *testing.T) {
	received := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		received <- r.URL.Path + " " + string(data)
	}))
	defer collector.Close()
	for name, endpoint := range map[string]string{
		"":                                   "",
		"OTEL_EXPORTER_OTLP_ENDPOINT":        collector.URL,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL + "/v1/traces",
	} {
		t.Run(name, func(t *testing.T) {
			environment := map[string]string{name: endpoint}
			if name != "" {
				t.Setenv(name, endpoint)
			}
			tel, err := newTelemetry(t.Context(), func(name string) string { return environment[name] })
			if err != nil {
				t.Fatalf("newTelemetry: got error %v want nil", err)
			}
			_, span := tel.tracers.Tracer("shop").Start(t.Context(), "checkout")
			if !span.SpanContext().IsSampled() {
				t.Error("span: got it unsampled want it sampled, for the exemplars")
			}
			span.End()
			equal(t, "error of shutdown", tel.shutdown(t.Context()), nil)
			got := ""
			select {
			case got = <-received:
			default:
			}
			sent := strings.HasPrefix(got, "/v1/traces ") && strings.Contains(got, "storefront") && strings.Contains(got, "checkout")
			equal(t, "sent", sent, name != "")
		})
	}
}
