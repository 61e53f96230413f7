package recipes

import (
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// chiRouter has a throttle for each route, so that a full report does not shed orders.
func chiRouter(routes *throttle.Group, order, report http.HandlerFunc) http.Handler {
	serve := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: routes})
	router := chi.NewRouter()
	router.Group(func(r chi.Router) {
		r.Use(serve) // inside Group: it runs after chi has set the pattern, which is the key
		r.Get("/orders/{id}", order)
		r.Get("/report", report)
	})
	return router
}

// chiSubrouter has a throttle for each route below /shop.
func chiSubrouter(routes *throttle.Group, order, report http.HandlerFunc) http.Handler {
	serve := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: routes})
	router := chi.NewRouter()
	router.Route("/shop", func(r chi.Router) {
		r.With(serve).Get("/orders/{id}", order) // not r.Use in Route: there the pattern is "/shop/*"
		r.With(serve).Get("/report", report)
	})
	return router
}

// chiUse has one throttle for all routes.
func chiUse(th *throttle.Throttle, report http.HandlerFunc) http.Handler {
	router := chi.NewRouter()
	router.Use(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{}))
	router.Get("/report", report)
	return router
}

func TestChi_ShedsOneRoute(t *testing.T) {
	for prefix, router := range map[string]func(routes *throttle.Group, order, report http.HandlerFunc) http.Handler{
		"": chiRouter, "/shop": chiSubrouter,
	} {
		routes := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return decided("routes") }, throttle.GroupConfig{}))
		reports := uint64(0)
		h := router(routes, func(_ http.ResponseWriter, r *http.Request) {
			if got := chi.URLParam(r, "id"); got != "7" {
				t.Errorf("id: got %q want 7", got)
			}
		}, rejecting(&reports))
		got := call(t, h, prefix+"/report", 300)
		sheds(t, throttle.Must(routes.Get(prefix+"/report")), got, reports)
		if got := call(t, h, prefix+"/orders/7", 300); got.ok != 300 || routes.Len() != 2 {
			t.Errorf("the other route: got %+v and %d throttles want 300 ok and 2", got, routes.Len())
		}
		_ = routes.Close()
	}
}

func TestChi_ShedsAllRoutes(t *testing.T) {
	th, reports := throttle.Must(throttle.New(decided("shop"))), uint64(0)
	sheds(t, th, call(t, chiUse(th, rejecting(&reports)), "/report", 300), reports)
}

// rejecting is a handler that rejects every request, and counts them.
func rejecting(requests *uint64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		*requests++
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
