package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

const jsonType = "application/json"

func post(t *testing.T, handler http.Handler, kind, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8080/control", strings.NewReader(body))
	return ask(handler, r, "Content-Type", kind)
}

func TestControlChangesTheShop(t *testing.T) {
	f := build(t, "")
	const body = `{"load":4,"capacity":1000,"backend":"brownout","throttle":"off","policy":"sre"}`
	got := post(t, f.handler("127.0.0.1:8080"), jsonType+"; charset=utf-8", body)
	if got.Code != http.StatusOK || got.Body.String() != body+"\n" {
		t.Errorf("got status %d and %q want 200 and %q", got.Code, got.Body, body)
	}
	want := shop.Settings{Load: 4, Capacity: 1000, Backend: shop.Brownout, Policy: throttle.SRE}
	equal(t, "settings", f.shop.Settings(), want)
	if stats := f.shop.Throttle().Stats(); stats.Mode != throttle.ModeOff || stats.Policy != throttle.SRE {
		t.Errorf("got a throttle in mode %v with policy %v want off, sre", stats.Mode, stats.Policy)
	}
}

func TestControlRefuses(t *testing.T) {
	f := build(t, "")
	handler := f.handler("127.0.0.1:8080")
	for _, tt := range []struct {
		kind, body string
		status     int
		want       string
	}{
		{jsonType, `{"load":11,"throttle":"off"}`, 400, "load is 11: want 0 to 10"},
		{jsonType, `{"throttle":"shadow"}`, 400, `throttle is \"shadow\": want on or off`},
		{jsonType, `{"policy":"fair"}`, 400, `throttle.Policy is \"fair\": want tiered or sre`},
		{jsonType, `{"laod":4}`, 400, "laod"},
		{jsonType, `{"load":4} {"load":5}`, 400, "after the JSON object"},
		{jsonType, ``, 400, "cannot read the body"},
		{jsonType, `{"backend":"` + strings.Repeat("x", maxControlSize) + `"}`, 413, "too large"},
		{"text/plain", `{"load":4}`, 415, "application/json"},
	} {
		got := post(t, handler, tt.kind, tt.body)
		if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.want) || got.Header().Get("Content-Type") != jsonType {
			t.Errorf("%.60s: got status %d and %s want %d and %q", tt.body, got.Code, got.Body, tt.status, tt.want)
		}
	}
	equal(t, "settings, none of which is changed", f.shop.Settings(), shop.Calm())
	equal(t, "status of GET", get(t, handler, "/control").Code, http.StatusMethodNotAllowed)
}

func TestControlIsOurPagesAlone(t *testing.T) {
	f := build(t, "")
	handler := f.handler("Shop.example.com:8080")
	for _, tt := range []struct {
		name, host string
		headers    []string
		status     int
	}{
		{"our page", "localhost:8080", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"}, 200},
		{"our page, an old browser, and the name we listen on", "shop.example.com:8080", []string{"Origin", "http://shop.example.com:8080"}, 200},
		{"curl", "127.0.0.1:8080", nil, 200},
		{"another site", "127.0.0.1:8080", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"another site, an old browser", "127.0.0.1:8080", []string{"Origin", "https://evil.example"}, 403},
		{"a name made to point here", "evil.example:8080", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://evil.example:8080"}, 403},
	} {
		for path, body := range map[string]string{"/control": `{"capacity":777}`, "/alerts": notify()} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			r.Host = tt.host
			r.Header.Set("Content-Type", jsonType)
			equal(t, tt.name+", "+path, ask(handler, r, tt.headers...).Code, tt.status)
		}
	}
	for _, path := range []string{"/stream", "/debug/throttle", "/debug/throttle?format=json", "/metrics"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "evil.example:8080"
		equal(t, path+" by a name made to point here", ask(handler, r).Code, http.StatusForbidden)
	}
}
