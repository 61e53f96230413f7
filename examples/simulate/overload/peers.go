package overload

import (
	"errors"
	"time"
)

// peers are other libraries, each used as its documentation says, with its defaults.
func peers() []Policy {
	return []Policy{failsafePolicy(), failsafePriorityPolicy(), goZeroPolicy(), aegisPolicy(), goBreakerPolicy()}
}

// errRejected is what the peers are told of a rejected call that want to be told of an error.
var errRejected = errors.New("rejected by the backend")

// scatter lets up to a microsecond of the bubble's time pass. Peers that seed their dice by the time would otherwise all
// draw the same numbers, and in every run.
func scatter(e Env) { time.Sleep(time.Duration(1 + 1000*e.Rand())) }
