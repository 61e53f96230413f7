package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// deliver sends a notification as an Alertmanager does, and returns the response and the text on the terminal.
func deliver(t *testing.T, kind, body string, headers ...string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var out strings.Builder
	f := build(t, "")
	f.out = &out
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://storefront:8080/alerts", strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	got := ask(f.handler("0.0.0.0:8080"), r, headers...)
	return got, out.String()
}

// notify returns a notification of these alerts, with everything around that Alertmanager sends.
func notify(alerts ...string) string {
	return `{"receiver":"storefront","status":"firing","alerts":[` + strings.Join(alerts, ",") + `],"groupLabels":{"job":"storefront"},` +
		`"commonLabels":{},"commonAnnotations":{},"externalURL":"http://alertmanager:9093","version":"4","groupKey":"{}:{}","truncatedAlerts":0}`
}

// one returns an alert with these labels, in pairs.
func one(status string, labels ...string) string {
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%q:%q", labels[i], labels[i+1]))
	}
	return `{"status":"` + status + `","labels":{` + strings.Join(pairs, ",") + `},"annotations":{"summary":"x"},` +
		`"startsAt":"2026-01-01T00:00:00Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://x/","fingerprint":"1"}`
}

func TestAlertsArePrinted(t *testing.T) {
	const indent = "         -- "
	many := make([]string, maxAlertLines+3)
	for i := range many {
		many[i] = one("firing", "alertname", "A")
	}
	for _, tt := range []struct{ name, body, want string }{
		{
			"one that fires",
			notify(one("firing", "alertname", "ThrottleHighPriorityShedding", "severity", "critical", "job", "storefront", "throttle_name", "shop-backend")),
			indent + "alert firing: ThrottleHighPriorityShedding (critical) shop-backend\n",
		},
		{
			"three, each with its labels",
			notify(
				one("resolved", "alertname", "ThrottleAvailabilityFaults", "severity", "warning", "throttle_name", "shop-backend", "error_type", "timeout"),
				one("firing", "alertname", "ThrottleErrorBudgetBurn", "window", "1h", "throttle_name", "shop-backend", "severity", "critical"),
				one("firing", "alertname", "ThrottleTargetDown", "severity", "warning", "instance", "storefront:8080")),
			indent + "alert resolved: ThrottleAvailabilityFaults (warning) shop-backend timeout\n" +
				indent + "alert firing: ThrottleErrorBudgetBurn (critical) shop-backend 1h\n" +
				indent + "alert firing: ThrottleTargetDown (warning) storefront:8080\n",
		},
		{"without labels", notify(`{"status":"firing"}`), indent + "alert firing: without a name\n"},
		{"none", notify(), ""},
		{
			"too many", notify(many...),
			strings.Repeat(indent+"alert firing: A\n", maxAlertLines) + indent + "alerts: 3 more\n",
		},
		{"left out by Alertmanager", strings.Replace(notify(), `Alerts":0`, `Alerts":7`, 1), indent + "alerts: 7 more\n"},
		{
			"forged lines",
			notify(one("firing", "alertname", "A\n  1 s all is well", "severity", "\x1b[2J", "throttle_name", "\u202egnp\u2028\r\u009b\u200b")),
			indent + "alert firing: A\ufffd  1 s all is well (\ufffd[2J) \ufffdgnp\ufffd\ufffd\ufffd\ufffd\n",
		},
		{
			"a name without end", notify(one("firing", "alertname", strings.Repeat("é", 81), "throttle_name", strings.Repeat("x", maxLabel))),
			indent + "alert firing: " + strings.Repeat("é", maxLabel) + "… " + strings.Repeat("x", maxLabel) + "\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// %q writes \x1b, which is not valid in JSON.
			got, printed := deliver(t, jsonType, strings.ReplaceAll(tt.body, `\x1b`, `\u001b`))
			if got.Code != http.StatusOK || printed != tt.want {
				t.Errorf("alerts: got status %d, %s and\n%s\nwant 200 and\n%s", got.Code, got.Body, printed, tt.want)
			}
		})
	}
}

func TestAlertsRefused(t *testing.T) {
	fires := one("firing", "alertname", "A")
	for _, tt := range []struct {
		kind, body string
		status     int
		want       string
	}{
		{jsonType, `{`, 400, "cannot read the body"},
		{jsonType, `null`, 400, `version is \"\": want \"4\"`},
		{jsonType, strings.Replace(notify(fires), `"4"`, `"3"`, 1), 400, `version is \"3\": want \"4\"`},
		{jsonType, notify(fires, one("pending")), 400, `status of alert 1 is \"pending\": want firing or resolved`},
		{jsonType, notify(one("firing", "alertname", strings.Repeat("x", maxAlertsSize))), 413, "too large"},
	} {
		got, printed := deliver(t, tt.kind, tt.body)
		if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.want) || printed != "" {
			t.Errorf("%.40s: got status %d, %.200s and %q want %d, %q and nothing printed", tt.body, got.Code, got.Body, printed, tt.status, tt.want)
		}
	}
	equal(t, "status of GET", get(t, build(t, "").handler(""), "/alerts").Code, http.StatusMethodNotAllowed)
}

func TestAlertsThatCannotBePrintedAreSentAgain(t *testing.T) {
	f := build(t, "")
	f.out = broken{}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/alerts", strings.NewReader(notify(one("firing"))))
	r.Host = "127.0.0.1:8080"
	if got := ask(f.handler(""), r, "Content-Type", jsonType); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "disk full") {
		t.Errorf("a full disk: got status %d and %s want 503, which Alertmanager takes as a reason to try again", got.Code, got.Body)
	}
}
