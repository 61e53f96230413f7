package recipes

import (
	"net/http"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// echoServer has the middleware around the engine.
func echoServer(th *throttle.Throttle, order echo.HandlerFunc) *http.Server {
	e := echo.New()
	e.GET("/orders/:id", order)
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	return &http.Server{
		Addr: ":8080", ReadHeaderTimeout: 5 * time.Second,
		Handler: serve(e), // not e.Use
	}
}

// echoUse is the wrong place: echo writes a returned error after all its middlewares have returned.
func echoUse(th *throttle.Throttle, order echo.HandlerFunc) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})))
	e.GET("/orders/:id", order)
	return e
}

func TestEcho_ShedsAroundTheEngine(t *testing.T) {
	for name, full := range map[string]func(echo.Context) error{
		"returned": func(echo.Context) error { return echo.NewHTTPError(http.StatusServiceUnavailable) },
		"written":  func(c echo.Context) error { return c.String(http.StatusServiceUnavailable, c.Param("id")) },
	} {
		t.Run(name, func(t *testing.T) {
			th, orders := throttle.Must(throttle.New(decided("shop"))), uint64(0)
			got := call(t, echoServer(th, func(c echo.Context) error {
				orders++
				return full(c)
			}).Handler, "/orders/7", 300)
			sheds(t, th, got, orders)
		})
	}
}

// If this fails, docs/recipes.md is wrong about Use.
func TestEcho_UseCountsAccepted(t *testing.T) {
	th := throttle.Must(throttle.New(decided("shop")))
	got := call(t, echoUse(th, func(echo.Context) error {
		return echo.NewHTTPError(http.StatusServiceUnavailable)
	}), "/orders/7", 300)
	if c := countsOf(th); got.refused != 300 || c != (counts{accepted: 300}) {
		t.Errorf("got %+v, the throttle counted %+v want 300 refused, counted as accepted", got, c)
	}
}
