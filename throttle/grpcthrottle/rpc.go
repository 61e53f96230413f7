package grpcthrottle

import "google.golang.org/grpc"

// RPC describes a call to the functions of a config. Unknown fields are empty.
type RPC struct {
	_ struct{} // keyed literals only

	// Method is the full name of the method: "/pkg.Service/Method".
	Method string
	// Target is the target of the [grpc.ClientConn], such as "dns:///orders:443". It is empty on a
	// server.
	Target string
	// Stream reports whether the call came as a stream: either side may send more than one message.
	Stream bool
}

// outgoingRPC describes a call of a client. Only tests have a nil connection, which has no target.
func outgoingRPC(cc *grpc.ClientConn, method string, stream bool) RPC {
	rpc := RPC{Method: method, Stream: stream}
	if cc != nil {
		rpc.Target = cc.Target()
	}
	return rpc
}

// mustBeMade panics unless a Client or a Server was made.
func mustBeMade(of string, made bool) {
	if !made {
		panic("grpcthrottle: the " + of + " is nil or zero: want one made with New" + of)
	}
}
