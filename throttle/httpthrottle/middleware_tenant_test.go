package httpthrottle_test

import (
	"net/http"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func TestMiddleware_Tenant(t *testing.T) {
	account := func(r *http.Request) string { return "tenant of " + r.URL.Path }
	for want, of := range map[string]func(*http.Request) string{"bob": nil, "tenant of /": account} {
		r := incoming(throttle.WithTenant(t.Context(), "bob"))
		served(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{Tenant: of}, r, func(_ http.ResponseWriter, r *http.Request) {
			equal(t, "tenant", throttle.TenantFromContext(r.Context()), want)
		})
	}
}
