package main

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page/pagetest"
	"github.com/spillway-go/spillway/examples/storefront/shop"
)

func TestPages(t *testing.T) {
	handler := build(t, "").handler("127.0.0.1:8080")
	if got := get(t, handler, "/debug/throttle?format=json"); !strings.Contains(got.Body.String(), `"`+shop.Name+`"`) {
		t.Errorf("statusz: got status %d and %.200s want %s", got.Code, got.Body, shop.Name)
	}
	for path, want := range map[string]string{"/healthz": "text/plain", "/metrics": "text/plain", "/debug/throttle": "text/html"} {
		got := get(t, handler, path)
		kind := got.Header().Get("Content-Type")
		if kind == "" {
			kind = http.DetectContentType(got.Body.Bytes())
		}
		if got.Code != http.StatusOK || !strings.HasPrefix(kind, want) {
			t.Errorf("%s: got status %d and %s want 200 and %s", path, got.Code, kind, want)
		}
		if got.Header().Get("Content-Security-Policy") == "" || got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got headers %v want the security headers", path, got.Header())
		}
	}
	for _, path := range []string{"/index.html", "/assets/", "/assets/index.html", "/assets/../server.go", "/favicon.ico"} {
		if got := get(t, handler, path); got.Code == http.StatusOK {
			t.Errorf("%s: got 200 want to be refused", path)
		}
	}
}

func TestThePageHasWhatItNeeds(t *testing.T) {
	wanted := strings.Fields("goodput twin-goodput offered served sent shed-rate load capacity story connection controls refusal " +
		"backend-up backend-brownout backend-down throttle-on throttle-off policy-tiered policy-sre preset-overload preset-outage preset-calm")
	for _, k := range shop.Kinds() {
		for _, what := range []string{"success-", "shed-", "probability-"} {
			wanted = append(wanted, what+k.Priority.String())
		}
	}
	pagetest.Check(t, build(t, "").handler(""), wanted...)
}

func TestMetricsHaveExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-load 4")
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		f.shop.Run(ctx)
		got := get(t, f.handler(""), "/metrics", "Accept", "application/openmetrics-text; version=1.0.0")
		page := got.Body.String()
		if !strings.HasPrefix(got.Header().Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(page, "# EOF\n") {
			t.Fatalf("metrics: got %s want OpenMetrics", got.Header().Get("Content-Type"))
		}
		for _, series := range []string{
			`throttle_calls_total\{.*throttle_name="shop-backend"`, `go_goroutines `, `process_start_time_seconds `, `target_info\{.*service_name="storefront"`,
			`throttle_call_duration_seconds_bucket\{.*} \S+ # \{.*trace_id="[0-9a-f]{32}".*}`,
		} {
			if !regexp.MustCompile(`(?m)^` + series).MatchString(page) {
				t.Errorf("metrics: got no line like %s", series)
			}
		}
	})
}
