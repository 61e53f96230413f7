// Package interop tests throttles together with libraries of others. It runs the interoperability cases
// of grpc-go against clients and servers with throttles, over TCP. It leaves out the cases that need
// credentials of a cloud, pick_first_unary, which the stock server does not pass, orca_oob, whose
// server needs an internal package of grpc-go, and the soaks, which repeat large_unary. It puts throttles beside OpenTelemetry's own
// instrumentation of HTTP and gRPC. The package has only tests, because no other module requires these
// libraries.
package interop
