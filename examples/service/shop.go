package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// shopHandler serves the shop. While requests wait for a processor, or if deadlines pass, it sheds
// browsing first, and checkouts last.
func shopHandler(th *throttle.Throttle, b *backends) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /products", answer(b.products))
	mux.Handle("POST /checkout", answer(b.pay))
	return httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{Priority: priority})(mux)
}

func priority(r *http.Request) throttle.Priority {
	if r.URL.Path == "/checkout" {
		return throttle.High
	}
	return throttle.Medium
}

// answer serves what a backend says. The context of the request has its priority, so a backend without
// capacity sheds browsing first too.
func answer(ask func(context.Context) (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := ask(r.Context())
		switch {
		case err == nil:
			fmt.Fprint(w, text)
		case httpthrottle.WriteError(w, r, err): // 503 and Retry-After: no capacity
		default:
			slog.Error("a backend failed", "path", r.URL.Path, "error", err)
			http.Error(w, "a backend failed", http.StatusInternalServerError)
		}
	})
}
