package grpcthrottle_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// The smallest server and client.
func Example_recipes() {
	server := throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Name: "incoming"},
	}))
	s := grpc.NewServer(server.ServerOptions()...)
	s.Stop() // the server below answers the call

	const target = "passthrough:///backend"
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	client := throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "outgoing"}}))
	backend, err := grpc.NewClient(target, append(client.DialOptions(), credentials)...)
	check(err)
	check(backend.Close())

	dialer, stop := served(&shop{buy: func(context.Context, string) (string, error) { return "sold", nil }}, server.ServerOptions()...)
	defer stop()
	conn := connect(target, append(client.DialOptions(), dialer)...)
	defer conn.Close()
	answer, err := ask(context.Background(), conn, "pear")
	fmt.Println(answer, err)
	// Output:
	// sold <nil>
}
