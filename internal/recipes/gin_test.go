package recipes

import (
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

// ginUse is the wrong place: the handlers write to gin's own writer, which the middleware does not see.
func ginUse(th *throttle.Throttle, order gin.HandlerFunc) http.Handler {
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	engine := gin.New()
	engine.Use(func(c *gin.Context) {
		serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			c.Request = r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
	})
	engine.GET("/orders/:id", order)
	return engine
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

// If this fails, docs/recipes.md is wrong about Use.
func TestGin_UseCountsAccepted(t *testing.T) {
	gin.SetMode(gin.TestMode)
	th := throttle.Must(throttle.New(decided("shop")))
	got := call(t, ginUse(th, func(c *gin.Context) { c.AbortWithStatus(http.StatusServiceUnavailable) }), "/orders/7", 300)
	if c := countsOf(th); got.refused != 300 || c != (counts{accepted: 300}) {
		t.Errorf("got %+v, the throttle counted %+v want 300 refused, counted as accepted", got, c)
	}
}
