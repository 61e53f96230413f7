package httpthrottle_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// TestMiddleware_Tenant checks which tenant a handler gets. A header alone makes none, and a transport sends none.
func TestMiddleware_Tenant(t *testing.T) {
	account := func(r *http.Request) string { return r.Header.Get("X-Account") }
	for _, tt := range []struct {
		name  string
		of    func(*http.Request) string
		outer string
		want  string
	}{
		{"by default", nil, "", ""},
		{"of an outer handler", nil, "bob", "bob"},
		{"of the function", account, "bob", "ann"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Account", "ann")
		if tt.outer != "" {
			r = r.WithContext(throttle.WithTenant(r.Context(), tt.outer))
		}
		th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
		got := "no request"
		served(th, httpthrottle.MiddlewareConfig{Tenant: tt.of}, r, func(_ http.ResponseWriter, r *http.Request) {
			got = throttle.TenantFromContext(r.Context())
		})
		equal(t, tt.name, got, tt.want)
	}
}
