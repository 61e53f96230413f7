package grpcthrottle

import (
	"context"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// AttemptsKey is the key of the metadata with the number of earlier attempts of a call. First
// attempts have no such metadata. The retries of gRPC use it too.
const AttemptsKey = "grpc-previous-rpc-attempts"

type unaryCall struct {
	client   *Client
	throttle *throttle.Throttle
	rpc      RPC
	priority throttle.Priority
	set      bool // the context or the Priority function set the priority
	invoke   func(context.Context, ...grpc.CallOption) error
}

// retrying makes the attempts of the call, and returns the error of the last one.
func (u *unaryCall) retrying(ctx context.Context, retrier *retry.Retrier, opts []grpc.CallOption) error {
	var answer answerTrailer
	opts = answer.with(opts)
	run := retrier.Begin(ctx, u.priority)
	call, err := run.Admit()
	if err != nil {
		return u.client.notMade(ctx, err)
	}
	for {
		own, outcome := u.attempt(call, &run, &answer, opts)
		res := retry.Result{Err: outcome}
		if outcome != nil {
			res.Delay, res.Stop = protocol.Pushback(answer.trailer[pushbackKey])
			res.Once = !u.client.config.Repeatable(ctx, u.rpc)
		}
		if !run.Again(res) {
			return own
		}
		if call, err = run.Admit(); err != nil {
			return own
		}
		answer.trailer = nil
	}
}

// attempt makes one attempt. It returns its error, and the error that the throttle classified.
func (u *unaryCall) attempt(
	call throttle.Call, run *retry.Run, answer *answerTrailer, opts []grpc.CallOption,
) (own, outcome error) {
	defer call.Done(throttle.ErrPanicked) // has no effect after the first Done
	ctx := u.client.outgoing(call.Context(), u.rpc, run.Priority(), u.set)
	if n := run.Attempt(); n > 1 {
		md, _ := metadata.FromOutgoingContext(ctx)
		md = metadata.Join(md)
		md.Set(AttemptsKey, strconv.Itoa(n-1))
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	own = u.invoke(ctx, opts...)
	u.client.receive(ctx, u.throttle, u.rpc, answer.trailer)
	outcome = clientOutcome(own, &answer.trailer)
	protocol.Report(ctx, outcome)
	call.Done(outcome)
	return own, outcome
}

func attemptOf(ctx context.Context) int {
	number := 1
	for _, text := range metadata.ValueFromIncomingContext(ctx, AttemptsKey) { // two if gRPC retries our retry
		n := protocol.ParseAttempt(text)
		if n == 0 || n == protocol.MaxAttempt {
			return 1
		}
		number += n
	}
	return min(number, protocol.MaxAttempt)
}

// arrived counts a retry that a sender has marked. T is nil if the server is closed.
func (s *Server) arrived(
	ctx context.Context, t *throttle.Throttle, p throttle.Priority, fixed bool,
) (context.Context, throttle.Priority) {
	if number := attemptOf(ctx); number > 1 && t != nil {
		return s.arrivals.Arrive(ctx, t, number, p, fixed)
	}
	return ctx, p
}
