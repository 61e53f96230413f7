package httpthrottle_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// What a handler gets of the priority that a sender names. Package protocol has the rules of Trust.
func TestPriority_Incoming(t *testing.T) {
	trusts := httpthrottle.PeerFunc(func(r *http.Request) bool { return r.URL.Path == "/" })
	medium := func(*http.Request) throttle.Priority { return throttle.Medium }
	important := throttle.WithPriority(t.Context(), throttle.Important)
	asking := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: trusts, Ceiling: throttle.Important, Default: throttle.Low}, Priority: medium}
	wary := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: httpthrottle.PeerFunc(nil), Default: throttle.Low}}
	for name, c := range map[string]struct {
		ctx    context.Context
		c      httpthrottle.MiddlewareConfig
		values []string
		want   throttle.Priority
		onward string
	}{
		"silent":            {t.Context(), wary, nil, throttle.Low, "[]"},
		"silent, function":  {t.Context(), asking, nil, throttle.Medium, "[]"},
		"trusted":           {t.Context(), asking, []string{"low"}, throttle.Low, "[low]"},
		"trusted, too high": {t.Context(), asking, []string{"high"}, throttle.Important, "[important]"},
		"trusted, repeated": {t.Context(), asking, []string{"important", "important"}, throttle.Medium, "[]"},
		"untrusted":         {t.Context(), wary, []string{"high"}, throttle.Low, "[]"},
		"context, trusted":  {important, asking, []string{"low"}, throttle.Important, "[low]"},
	} {
		r := incoming(c.ctx)
		r.Header.Set("Other", "kept")
		r.Header[httpthrottle.PriorityHeader] = c.values
		c.c.Tenant = func(r *http.Request) string { return "of " + r.URL.Path }
		th := newThrottle(t, throttle.Config{})
		served(th, c.c, r, func(_ http.ResponseWriter, r *http.Request) {
			equal(t, name+": in the context", throttle.PriorityFromContext(r.Context(), 100), c.want)
			equal(t, name+": onward", fmt.Sprint(r.Header[httpthrottle.PriorityHeader]), c.onward)
			equal(t, name+": other header", r.Header.Get("Other"), "kept")
			equal(t, name+": tenant", throttle.TenantFromContext(r.Context()), "of /")
		})
		equal(t, name, books(th), "1 "+c.want.String()+" accepted/none")
		equal(t, name+": own header stays", len(r.Header[httpthrottle.PriorityHeader]), len(c.values))
	}
}
