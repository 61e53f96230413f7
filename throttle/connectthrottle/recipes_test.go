package connectthrottle_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// The smallest server and client.
func Example_recipes() {
	mux := http.NewServeMux()
	newShopHandler := func(serve handler, options ...connect.HandlerOption) (string, http.Handler) {
		return buy, handle(serve, options...)
	}
	shop := sold
	server := throttle.Must(connectthrottle.NewServer(connectthrottle.ServerConfig{
		Throttle: throttle.Config{Name: "incoming"},
	}))
	mux.Handle(newShopHandler(shop, connect.WithInterceptors(server.Interceptor())))

	listening := httptest.NewServer(mux)
	defer listening.Close()
	httpClient, url := listening.Client(), listening.URL+buy
	newShopClient := connect.NewClient[text, text]
	client := throttle.Must(connectthrottle.NewClient(connectthrottle.ClientConfig{Throttle: throttle.Config{Name: "outgoing"}}))
	backend := newShopClient(httpClient, url, connect.WithInterceptors(client.Interceptor()))

	answer, err := ask(context.Background(), backend)
	fmt.Println(answer, err)
	// Output:
	// sold <nil>
}
