package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// How long a client made with Options may take at most.
const (
	dialTimeout   = time.Second
	socketTimeout = 500 * time.Millisecond
)

// Options returns settings for a client of a store, for [redis.NewUniversalClient]: one address means a server, several mean a
// cluster. Add what is needed to log in.
//
// A context ends a call on the socket too, which it does not by default: a server that hangs would hold each call for seconds. Nothing
// is tried twice: a refresh comes round again anyway, and a write that was tried twice would conflict with itself.
func Options(addresses ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 addresses,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           socketTimeout,
		WriteTimeout:          socketTimeout,
		PoolTimeout:           socketTimeout,
		// For managed servers that announce their maintenance; others are asked in vain, on each connection.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
