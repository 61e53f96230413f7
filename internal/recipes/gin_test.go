package recipes

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// ginServer has the middleware around the engine.
func ginServer(th *throttle.Throttle, order gin.HandlerFunc) *http.Server {
	engine := gin.New()
	engine.GET("/orders/:id", order)
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	return &http.Server{
		Addr: ":8080", ReadHeaderTimeout: 5 * time.Second,
		Handler: serve(engine), // not engine.Use
	}
}

func TestGin_ShedsAroundTheEngine(t *testing.T) {
	gin.SetMode(gin.TestMode)
	th, orders := throttle.Must(throttle.New(decided("shop"))), uint64(0)
	got := call(t, ginServer(th, func(c *gin.Context) {
		orders++
		c.JSON(http.StatusServiceUnavailable, gin.H{"id": c.Param("id")})
	}).Handler, "/orders/7", 300)
	sheds(t, th, got, orders)
}

// gin's Stream asks the server's ResponseWriter whether the client is still there.
func TestGin_Streams(t *testing.T) {
	gin.SetMode(gin.TestMode)
	th := throttle.Must(throttle.New(decided("shop")))
	got := call(t, ginServer(th, func(c *gin.Context) {
		parts := 0
		c.Stream(func(w io.Writer) bool {
			parts++
			_, _ = io.WriteString(w, "text")
			return parts < 3
		})
	}).Handler, "/orders/7", 1)
	if c := countsOf(th); got.ok != 1 || c != (counts{accepted: 1}) {
		t.Errorf("got %+v and %+v want one accepted", got, c)
	}
}
