package redisstore

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// The scripts of buckets are the clock, what they share, and a step.
var (
	//go:embed bucketclock.lua
	bucketClockLua string
	//go:embed bucketmath.lua
	bucketMathLua string
	//go:embed buckettake.lua
	bucketTakeLua string
	//go:embed bucketreturn.lua
	bucketReturnLua string
)

// bucketScripts are called by their hashes, as those of a breaker.
type bucketScripts struct {
	take, giveBack *redis.Script
}

func newBucketScripts() bucketScripts {
	return bucketScripts{
		take:     redis.NewScript(bucketClockLua + bucketMathLua + bucketTakeLua),
		giveBack: redis.NewScript(bucketClockLua + bucketMathLua + bucketReturnLua),
	}
}
