package main

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

func TestPagesAndHeaders(t *testing.T) {
	handler := build(t, "").handler("127.0.0.1:8080")
	for path, want := range map[string]string{
		"/":                   "text/html",
		"/assets/page.css":    "text/css",
		"/assets/page.js":     "text/javascript",
		"/assets/chart.js":    "text/javascript",
		"/assets/controls.js": "text/javascript",
		"/assets/icon.svg":    "image/svg+xml",
		"/healthz":            "text/plain",
		"/metrics":            "text/plain",
		"/debug/throttle":     "text/html",
	} {
		got := get(t, handler, path)
		kind := got.Header().Get("Content-Type")
		if kind == "" {
			kind = http.DetectContentType(got.Body.Bytes())
		}
		if got.Code != http.StatusOK || !strings.HasPrefix(kind, want) {
			t.Errorf("%s: got status %d and %s want 200 and %s", path, got.Code, kind, want)
		}
		policy := got.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "http") {
			t.Errorf("%s: got the policy %q want none but our own", path, policy)
		}
		if got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got headers %v want nosniff", path, got.Header())
		}
	}
	for _, path := range []string{"/index.html", "/assets/", "/assets/../server.go", "/favicon.ico"} {
		if got := get(t, handler, path); got.Code == http.StatusOK {
			t.Errorf("%s: got 200 want to be refused", path)
		}
	}
}

// TestThePageHasWhatItNeeds: every id that a script asks for is there, once, and nothing comes from elsewhere.
func TestThePageHasWhatItNeeds(t *testing.T) {
	handler := build(t, "").handler("")
	page := get(t, handler, "/").Body.String()
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("id %s: got it twice", m[1])
		}
		ids = append(ids, m[1])
	}
	wanted := strings.Fields("goodput twin-goodput offered served sent shed-rate load capacity story connection controls refusal " +
		"backend-up backend-brownout backend-down throttle-on throttle-off policy-tiered policy-sre preset-overload preset-outage preset-calm")
	for _, k := range shop.Kinds() {
		for _, what := range []string{"success-", "shed-", "probability-"} {
			wanted = append(wanted, what+k.Priority.String())
		}
	}
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			t.Errorf("id %s: got none", id)
		}
	}
	script := ""
	for _, name := range assets() {
		script += get(t, handler, "/assets/"+name).Body.String()
	}
	for _, m := range regexp.MustCompile(`byId\("([^"]+)"\)`).FindAllStringSubmatch(script, -1) {
		if !slices.Contains(ids, m[1]) {
			t.Errorf("a script asks for the id %s: got none", m[1])
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(script, bad) {
			t.Errorf("scripts: got %s want text set as text", bad)
		}
	}
	for _, m := range regexp.MustCompile(`https?://[^"'\s)]+|\son\w+=|\sstyle=`).FindAllString(script+page, -1) {
		if m != "http://www.w3.org/2000/svg" {
			t.Errorf("page: got %q want nothing from elsewhere, and nothing inline", m)
		}
	}
}

func TestMetricsHaveEverySeriesAndExemplars(t *testing.T) {
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
			`throttle_calls_total\{.*throttle_decision="admitted".*throttle_name="shop-backend"`,
			`throttle_calls_total\{error_type="shed",.*throttle_cause="above"`, `throttle_calls_total\{error_type="timeout"`,
			`throttle_call_duration_seconds_bucket\{`, `throttle_call_duration_seconds_count\{`, `throttle_call_duration_seconds_sum\{`,
			`throttle_call_active\{`, `throttle_rejection_probability_ratio\{`, `throttle_window_requests\{`, `throttle_window_accepts\{`,
			`go_goroutines `, `go_memstats_heap_alloc_bytes `, `go_gc_duration_seconds\{`, `process_start_time_seconds `,
			`throttle_fallbacks_total\{`, `throttle_priority_clamped_total\{`, `target_info\{.*service_name="storefront"`,
			`throttle_call_duration_seconds_bucket\{.*} \S+ # \{.*trace_id="[0-9a-f]{32}".*}`,
		} {
			if !regexp.MustCompile(`(?m)^` + series).MatchString(page) {
				t.Errorf("metrics: got no line like %s", series)
			}
		}
	})
}

func TestStatuszListsTheThrottle(t *testing.T) {
	f := build(t, "")
	got := get(t, f.handler(""), "/debug/throttle?format=json")
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"`+shop.Name+`"`) {
		t.Errorf("statusz: got status %d and %.200s want 200 and %s", got.Code, got.Body, shop.Name)
	}
}
