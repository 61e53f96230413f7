package httpthrottle_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// TestMiddleware_Exempt has a throttle that sheds everything. Health checks are served, and counted in
// Stats.Exempt only. An Exempt of the config replaces the paths.
func TestMiddleware_Exempt(t *testing.T) {
	own := func(r *http.Request) bool { return r.URL.Path == "/status" }
	for target, exempt := range map[string]struct{ byDefault, byOwn bool }{
		"/healthz": {byDefault: true}, "/livez": {byDefault: true}, "/readyz": {byDefault: true}, "/health": {byDefault: true},
		"/ping": {byDefault: true}, "/readyz?verbose": {byDefault: true}, "http://shop.example/ping": {byDefault: true},
		"/status": {byOwn: true},
		"/":       {}, "/healthz/": {}, "/healthz/db": {}, "/HEALTHZ": {}, "/api/healthz": {}, "//healthz": {}, "/?path=/healthz": {},
	} {
		wantExempt(t, target+", by default", target, nil, exempt.byDefault)
		wantExempt(t, target+", with an own Exempt", target, own, exempt.byOwn)
	}
}

func wantExempt(t *testing.T, name, target string, exempt func(*http.Request) bool, want bool) {
	t.Helper()
	rec := throttletest.NewRecorder()
	th := shedding(t, throttle.Config{Hooks: rec.Hooks()})
	rec.Reset()
	counted, sheds, status := books(th), shed(th), http.StatusServiceUnavailable
	if want {
		status = http.StatusTeapot
	}
	w := served(th, httpthrottle.MiddlewareConfig{Exempt: exempt}, httptest.NewRequest(http.MethodGet, target, http.NoBody),
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	equal(t, name+": status", w.Code, status)
	equal(t, name+": exempt", th.Stats().Exempt == 1, want)
	equal(t, name+": shed", shed(th)-sheds == 1, !want)
	equal(t, name+": other calls", books(th), counted)
	equal(t, name+": hook calls", hookCalls(rec), "0 started, 0 finished")
}
