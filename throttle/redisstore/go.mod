module github.com/spillway-go/spillway/throttle/redisstore

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.23.0
	github.com/spillway-go/spillway v0.1.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/deixis/faults v1.0.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace (
	github.com/deixis/faults => ../../internal/third_party/faults
	github.com/spillway-go/spillway => ../../
)
