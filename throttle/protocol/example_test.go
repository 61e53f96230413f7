package protocol_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
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

// A server that gives retries a lower priority than first attempts. A call is the number of its attempt here.
func ExampleReceiver() {
	throttles := throttle.Must(protocol.NewThrottles("mythrottle: ServerConfig", throttle.Config{Name: "shop"}, throttle.GroupConfig{}, nil))
	defer throttles.Group.Close()
	receiver := protocol.Receiver[string]{
		Throttle:     func(context.Context, string) *throttle.Throttle { return throttles.Of("/orders") },
		Exempt:       func(context.Context, string) bool { return false },
		LowerRetries: true,
	}
	for _, call := range []string{"1", "2"} {
		p, trusted := protocol.Accept(context.Background(), throttle.Trust{}, nil)
		ctx, t, p := receiver.Receive(context.Background(), call, p, trusted, protocol.ParseAttempt(call))
		fmt.Println("attempt", retry.FromContext(ctx).Number, "has priority", p, "at the throttle", t.Name())
	}
	// Output:
	// attempt 1 has priority medium at the throttle shop
	// attempt 2 has priority low at the throttle shop
}

// Classify decides about answers. A panic and a caller that has disconnected are none. The end of a call that
// is marked with Ignore counts only if Classify says so.
func ExampleIgnore() {
	config := throttle.Config{Name: "orders", Classify: throttle.RejectIf(func(err error) bool {
		return strings.HasPrefix(err.Error(), "orders")
	})}
	throttles := throttle.Must(protocol.NewThrottles("mythrottle: ClientConfig", config, throttle.GroupConfig{}, nil))
	defer throttles.Group.Close()
	for _, err := range []error{
		errors.New("orders: no capacity"), protocol.Ignore(faults.Unavailable(0)), fmt.Errorf("orders: %w", throttle.ErrPanicked),
		fmt.Errorf("orders: %w", &protocol.AbandonedError{Cause: context.Canceled}),
	} {
		outcome := throttles.Of("orders:443").Classify(context.Background(), err)
		fmt.Printf("%v: %v, disconnected %t\n", err, outcome, protocol.IsDisconnected(err))
	}
	// Output:
	// orders: no capacity: rejected, disconnected false
	// service temporarily unavailable: ignored, disconnected false
	// orders: throttle: function panicked: ignored, disconnected false
	// orders: context canceled: ignored, disconnected true
}

// The load reports of a calm server and of a full one, as they travel. GRPC adds the base64 itself.
func ExampleFormatLoad() {
	full := throttle.LoadReport{Overloaded: true, Utilization: 2.5}
	full.Shed[throttle.Important], full.Shed[throttle.Medium], full.Shed[throttle.Low] = 0.125, 0.75, 1
	for _, report := range []throttle.LoadReport{{}, {Answers: 8}, full} {
		fmt.Println("endpoint-load-metrics:", protocol.FormatLoad(report))
		fmt.Println("endpoint-load-metrics-bin:", base64.StdEncoding.EncodeToString([]byte(protocol.FormatBinaryLoad(report))))
	}
	// Output:
	// endpoint-load-metrics: TEXT named_metrics.spillway.overloaded=0
	// endpoint-load-metrics-bin: Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAAA=
	// endpoint-load-metrics: TEXT named_metrics.spillway.overloaded=0,named_metrics.spillway.answers=8
	// endpoint-load-metrics-bin: Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAABCGwoQc3BpbGx3YXkuYW5zd2VycxEAAAAAAAAgQA==
	// endpoint-load-metrics: TEXT application_utilization=2.5,named_metrics.spillway.overloaded=1,named_metrics.spillway.shed.important=0.125,named_metrics.spillway.shed.medium=0.75,named_metrics.spillway.shed.low=1
	// endpoint-load-metrics-bin: SQAAAAAAAARAQh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAA8D9CIgoXc3BpbGx3YXkuc2hlZC5pbXBvcnRhbnQRAAAAAAAAwD9CHwoUc3BpbGx3YXkuc2hlZC5tZWRpdW0RAAAAAAAA6D9CHAoRc3BpbGx3YXkuc2hlZC5sb3cRAAAAAAAA8D8=
}
