package grpcthrottle

import (
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// answerTrailer receives the trailer of a call. A server may send its pushback there.
type answerTrailer struct {
	trailer metadata.MD
	options [4]grpc.CallOption // space for the options of most calls
}

// with returns opts, an option that sets the trailer at the end of the call, and more options. It does not
// change opts.
func (a *answerTrailer) with(opts []grpc.CallOption, more ...grpc.CallOption) []grpc.CallOption {
	all := append(append(a.options[:0], opts...), grpc.Trailer(&a.trailer))
	return slices.Clip(append(all, more...))
}
