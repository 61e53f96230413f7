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
