package otelthrottle_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/throttle"
)

// promtool returns the path of promtool. Without it the test is skipped, or fails where every tool has to be there.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err == nil {
		return path
	}
	const reason = "needs promtool (package prometheus)"
	if os.Getenv("SPILLWAY_REQUIRE_SERVICES") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

// check returns what promtool has to say about a scrape, and whether it is content.
func check(t *testing.T, tool, scrape string) (complaints string, content bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape)
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}

func TestPromtoolHasNoComplaint(t *testing.T) {
	tool := promtool(t)
	for _, tt := range []struct {
		name    string
		options []otelprometheus.Option
	}{
		{"default", nil},
		{"without scope and target", []otelprometheus.Option{otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo()}},
		{"with a namespace", []otelprometheus.Option{otelprometheus.WithNamespace("acme")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEndpoint(t, tt.options...)
			everyKind(t, newLab(t, setup{options: detailed(), meters: []sdkmetric.Option{sdkmetric.WithReader(e.exporter)}}), throttle.Config{Name: "db"})
			if said, content := check(t, tool, e.scrape(t, "")); !content || said != "" {
				t.Errorf("promtool: got %q, content %v want nothing", said, content)
			}
		})
	}
}

// TestPromtoolComplains plants what it should find.
func TestPromtoolComplains(t *testing.T) {
	tool := promtool(t)
	const planted = "# TYPE throttle_calls counter\nthrottle_calls 1\n"
	if said, content := check(t, tool, planted); content || !strings.Contains(said, "_total") {
		t.Errorf("promtool: got %q, content %v want a complaint about _total", said, content)
	}
}
