package redisstore

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

const (
	defaultPrefix = "spillway"
	longestName   = 255
	maxPrefix     = 255
)

// BreakerConfig says where in Redis a breaker keeps what it knows.
type BreakerConfig struct {
	// Name tells the breakers that share a Redis apart. It is the same in all processes of a fleet. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is what all keys begin with: 1 to 255 bytes without braces, which mark the part of a key that a cluster looks at.
	// Default "spillway".
	Prefix string
}

// Breaker is a [store.Store] and a [store.Watcher] in Redis. Make it with [NewBreaker]. It is safe for concurrent use.
type Breaker struct {
	client    redis.UniversalClient
	keys      breakerKeys
	scripts   breakerScripts
	pingAfter time.Duration
}

// NewBreaker returns a store that uses the client, which stays the caller's to close: see [Options] for how to make one. It asks
// Redis nothing, so that a process starts also when Redis does not answer.
func NewBreaker(client redis.UniversalClient, c BreakerConfig) (*Breaker, error) {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := checkClient(client); err != nil {
		return nil, err
	}
	return &Breaker{client: client, keys: newBreakerKeys(c.Prefix, c.Name), scripts: newBreakerScripts(), pingAfter: pingAfter}, nil
}

func (c BreakerConfig) validate() error {
	if c.Name == "" || len(c.Name) > longestName {
		return fmt.Errorf("redisstore: BreakerConfig.Name is %.64q: want 1 to %d bytes", c.Name, longestName)
	}
	if len(c.Prefix) > maxPrefix || strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("redisstore: BreakerConfig.Prefix is %.64q: want 1 to %d bytes without braces", c.Prefix, maxPrefix)
	}
	return nil
}

// Close implements [store.Store]. It does nothing: the client is its owner's to close.
func (b *Breaker) Close() error { return nil }

// breakerKeys are the names of a breaker's keys. The part in braces is the hash tag: a cluster keeps keys with the same tag together,
// so that a script finds all that it needs in one place, and shards lie on different servers.
type breakerKeys struct {
	shards [breakerstore.NumShards]string
	lease  string
	probes string // with the record's ID and the generation behind it
	change string // a channel
}

// newBreakerKeys encodes the name like a part of a URL, because braces in it would end the tag, and a slash would make two names one.
func newBreakerKeys(prefix, name string) breakerKeys {
	prefix, name = prefix+":breaker:", url.QueryEscape(name)
	k := breakerKeys{
		lease:  prefix + "{" + name + "/lead}:lease",
		probes: prefix + "{" + name + "/lead}:probes:",
		change: prefix + "{" + name + "}:change",
	}
	for i := range k.shards {
		k.shards[i] = prefix + "{" + name + "/" + strconv.Itoa(i) + "}:shard"
	}
	return k
}

// probe is the key of what a generation of a circuit has used of its budget.
func (k *breakerKeys) probe(id breakerstore.RecordID, generation uint64) string {
	return k.probes + hex.EncodeToString(id[:]) + ":" + strconv.FormatUint(generation, 10)
}

// The scripts of a breaker, one for each step.
var (
	//go:embed breaker_campaign.lua
	campaignLua string
	//go:embed breaker_resign.lua
	resignLua string
	//go:embed breaker_clock.lua
	clockLua string
	//go:embed breaker_apply.lua
	applyLua string
	//go:embed breaker_probe.lua
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
