module github.com/spillway-go/spillway/throttle/grpcthrottle

go 1.26.0

require (
	github.com/deixis/faults v1.0.1
	github.com/spillway-go/spillway v0.1.0
	go.uber.org/goleak v1.3.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace (
	github.com/deixis/faults => ../../internal/third_party/faults
	github.com/spillway-go/spillway => ../../
)
