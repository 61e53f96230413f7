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
	routes := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return decided("routes") }, throttle.GroupConfig{}))
	defer routes.Close()
	reports := uint64(0)
	h := chiRouter(routes,
		func(_ http.ResponseWriter, r *http.Request) {
			if got := chi.URLParam(r, "id"); got != "7" {
				t.Errorf("id: got %q want 7", got)
			}
		},
		func(w http.ResponseWriter, _ *http.Request) {
			reports++
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	got := call(t, h, "/report", 300)
	sheds(t, throttle.Must(routes.Get("/report")), got, reports)
	if got := call(t, h, "/orders/7", 300); got.ok != 300 {
		t.Errorf("the other route: got %+v want 300 ok", got)
	}
	if c := countsOf(throttle.Must(routes.Get("/orders/{id}"))); c.accepted != 300 || routes.Len() != 2 {
		t.Errorf("the other route: got %+v and %d throttles want 300 accepted and 2", c, routes.Len())
	}
}

func TestChi_Subrouter(t *testing.T) {
	routes := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return decided("routes") }, throttle.GroupConfig{}))
	defer routes.Close()
	reports := uint64(0)
	h := chiSubrouter(routes, func(http.ResponseWriter, *http.Request) {}, func(w http.ResponseWriter, _ *http.Request) {
		reports++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	got := call(t, h, "/shop/report", 300)
	sheds(t, throttle.Must(routes.Get("/shop/report")), got, reports)
	if got := call(t, h, "/shop/orders/7", 300); got.ok != 300 || routes.Len() != 2 {
		t.Errorf("the other route: got %+v and %d throttles want 300 ok and 2", got, routes.Len())
	}
}

func TestChi_ShedsAllRoutes(t *testing.T) {
	th := throttle.Must(throttle.New(decided("shop")))
	reports := uint64(0)
	got := call(t, chiUse(th, func(w http.ResponseWriter, _ *http.Request) {
		reports++
		w.WriteHeader(http.StatusServiceUnavailable)
	}), "/report", 300)
	sheds(t, th, got, reports)
}
