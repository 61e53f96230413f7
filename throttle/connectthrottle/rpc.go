package connectthrottle

import "connectrpc.com/connect"

// RPC describes a call to the functions of a config.
type RPC struct {
	_ struct{} // keyed literals only

	// Spec describes the procedure. Its Procedure is the full name: "/pkg.Service/Method".
	Spec connect.Spec
	// Peer describes the other side. On a client, Peer.Addr is the host of the server.
	Peer connect.Peer
}
