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
	client     *Client
	throttle   *throttle.Throttle
	rpc        RPC
	set        bool // the context or the Priority function set the priority
	req, reply any
	conn       *grpc.ClientConn
	invoker    grpc.UnaryInvoker
}

// retrying makes the attempts of the call, and returns the error of the last one.
func (u *unaryCall) retrying(
	ctx context.Context, retrier *retry.Retrier, p throttle.Priority, opts []grpc.CallOption,
) error {
	var answer answerTrailer
	opts = answer.with(opts)
	run := retrier.Begin(ctx, p)
	call, err := run.Admit()
	if err != nil {
		return u.client.notMade(ctx, err)
	}
	for {
		own, outcome := u.attempt(call, run.Attempt(), run.Priority(), &answer, opts)
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
	call throttle.Call, number int, p throttle.Priority, answer *answerTrailer, opts []grpc.CallOption,
) (own, outcome error) {
	defer call.Done(throttle.ErrPanicked) // has no effect after the first Done
	ctx := u.client.outgoing(call.Context(), u.rpc, p, u.set)
	if number > 1 {
		md, _ := metadata.FromOutgoingContext(ctx)
		md = metadata.Join(md)
		md.Set(AttemptsKey, strconv.Itoa(number-1))
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	own = u.invoker(ctx, u.rpc.Method, u.req, u.reply, u.conn, opts...)
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
