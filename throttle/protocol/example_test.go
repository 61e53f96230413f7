package protocol_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// A protocol whose answers have codes of gRPC. A handler calls another server, which has no capacity.
func Example() {
	const unavailable = 14
	throttles, err := protocol.NewThrottles("mythrottle: ClientConfig", throttle.Config{Name: "orders"}, throttle.GroupConfig{}, nil)
	if err != nil {
		panic(err)
	}
	defer throttles.Group.Close()
	call := func(ctx context.Context, host string) error {
		send := func(ctx context.Context) error {
			answer := errors.New("orders: no capacity") // of the protocol
			err := protocol.WithFault(answer, protocol.FaultOfCode(unavailable, answer.Error()))
			protocol.Report(ctx, err)
			return err
		}
		t := throttles.Of(host)
		if t == nil { // the client is closed
			return send(ctx)
		}
		p, _ := protocol.Priority(ctx)
		return t.Do(ctx, p, send)
	}

	// The server puts the priority into the context, and gives it to the handler.
	var handler protocol.Served
	p, _ := protocol.Accept(context.Background(), throttle.Trust{}, []string{"high"})
	handler.Begin(throttle.WithPriority(context.Background(), p))
	err = call(&handler, "orders:443")
	fmt.Println("priority:", p)
	fmt.Println("the throttle of the client counts:", throttle.DefaultClassify(&handler, err))
	fmt.Println("the throttle of the server counts:", throttle.DefaultClassify(&handler, handler.Outcome(err)))
	// Output:
	// priority: medium
	// the throttle of the client counts: rejected
	// the throttle of the server counts: ignored
}
