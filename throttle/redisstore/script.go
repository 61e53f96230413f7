package redisstore

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// The scripts of a breaker, one for each step.
var (
	//go:embed campaign.lua
	campaignLua string
	//go:embed resign.lua
	resignLua string
	//go:embed clock.lua
	clockLua string
	//go:embed apply.lua
	applyLua string
	//go:embed probe.lua
	probeLua string
)

// breakerScripts are called by their hashes. A server that does not know one, because it was restarted or has forgotten its scripts, says
// so and gets the text.
type breakerScripts struct {
	campaign, resign, clock, apply, probe *redis.Script
}

func newBreakerScripts() breakerScripts {
	return breakerScripts{
		campaign: redis.NewScript(campaignLua),
		resign:   redis.NewScript(resignLua),
		clock:    redis.NewScript(clockLua),
		apply:    redis.NewScript(applyLua),
		probe:    redis.NewScript(probeLua),
	}
}
