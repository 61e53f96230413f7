package protocol

import (
	"strconv"
	"time"
)

// noRetry is the delay of a server that forbids retries: it says that it has no capacity, but not for how
// long.
const noRetry = time.Second

// Pushback returns what a server says about a retry in the metadata grpc-retry-pushback-ms, which has the
// given values: the delay before it, and whether there must be none. A value that is not valid means none,
// as in gRPC. A delay that is not 0 means that the server is full: give it to a faults.AvailabilityFailure.
func Pushback(values []string) (delay time.Duration, stop bool) {
	if len(values) == 0 {
		return 0, false
	}
	ms, err := strconv.ParseInt(values[0], 10, 32)
	if len(values) > 1 || err != nil || ms < 0 {
		return noRetry, true
	}
	return time.Duration(ms) * time.Millisecond, false
}
