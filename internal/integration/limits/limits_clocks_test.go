package limits

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// clockError is the time by which the clock of a server differs from that of the machine.
const clockError = time.Minute

// promotes checks that a sentinel's new primary with another clock fills a bucket at most once.
func promotes(t *testing.T, ahead time.Duration) {
	const name = "main"
	primary := program.Redis(t)
	replica := program.RedisReplica(t, primary)
	replica.Kill(t)
	replica.SetClock(t, ahead)
	replica.Restart(t)
	replica.AwaitReplicated(t)
	sentinel := program.RedisSentinel(t, name, primary)
	e := engine{Name: "redis", Address: sentinel.Address, Primary: name, Tick: time.Microsecond}
	killed(t, e, 1, func() { primary.Kill(t) })
}

// clocked is a server whose clock can be set while it is down.
type clocked interface {
	restartable
	SetClock(t testing.TB, ahead time.Duration)
}

// restartsWithClock checks that a server that restarts with another clock fills a bucket at most once.
func restartsWithClock(outer *testing.T, e engine, server clocked, ahead time.Duration) func(t *testing.T) {
	return func(t *testing.T) {
		killed(t, e, 1, func() {
			server.Kill(outer)
			server.SetClock(outer, ahead)
			server.Restart(outer)
		})
	}
}
