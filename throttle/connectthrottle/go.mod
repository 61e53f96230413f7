module github.com/spillway-go/spillway/throttle/connectthrottle

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/deixis/faults v1.0.1
	github.com/spillway-go/spillway v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc
	google.golang.org/protobuf v1.36.12
)

require go.uber.org/goleak v1.3.0

replace (
	github.com/deixis/faults => ../../internal/third_party/faults
	github.com/spillway-go/spillway => ../../
)
