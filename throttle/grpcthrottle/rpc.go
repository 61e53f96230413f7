package grpcthrottle

import "google.golang.org/grpc"

// RPC says which call a function of a config is asked about. What is not known is empty.
type RPC struct {
	_ struct{} // keyed literals only

	// Method is the full name of the method: "/pkg.Service/Method".
	Method string
	// Target is what the [grpc.ClientConn] was made with, such as "dns:///orders:443". Servers have none.
	Target string
	// Stream reports whether the call came as a stream: whether messages may go more than once in either direction.
	Stream bool
}

// outgoing describes a call that a client makes. A nil connection, which only tests have, has no target.
func outgoing(cc *grpc.ClientConn, method string, stream bool) RPC {
	rpc := RPC{Method: method, Stream: stream}
	if cc != nil {
		rpc.Target = cc.Target()
	}
	return rpc
}
