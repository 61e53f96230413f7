package main

import (
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/origin"
)

// sameOrigin lets only our own page, and programs that are no browsers, through to next. Another page in the visitor's browser
// is refused by what the browser says of it.
func sameOrigin(next http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(next) }

// knownHost refuses a page whose name was made to point to this machine, by that name.
func knownHost(listen string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !origin.IsOurs(r.Host, listen) {
			answer(w, http.StatusForbidden, map[string]string{"error": "storefront: the page has another address: use that of -listen, or localhost"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
