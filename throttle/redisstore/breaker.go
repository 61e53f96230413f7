package redisstore

import (
	"cmp"
	"encoding/hex"
	"net/url"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// BreakerConfig configures the store of a breaker.
type BreakerConfig struct {
	// Name is the name of the breaker, the same in all processes of a fleet. Breakers that share a
	// Redis need different names. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is the start of all keys: at most 255 bytes without braces. Braces mark the hash tag
	// of a key in a cluster. Default "spillway".
	Prefix string
}

// Breaker is a [breakerstore.Store] and a [breakerstore.Watcher] in Redis. Create it with
// [NewBreaker]. It is safe for concurrent use.
type Breaker struct {
	client    redis.UniversalClient
	keys      breakerKeys
	scripts   breakerScripts
	pingAfter time.Duration
}

// NewBreaker returns a store that uses the client. [Options] returns settings for a client. The
// caller closes the client. NewBreaker sends nothing to Redis, so a process starts even if Redis
// does not answer.
func NewBreaker(client redis.UniversalClient, c BreakerConfig) (*Breaker, error) {
	if err := checkNames("BreakerConfig", c.Name, c.Prefix); err != nil {
		return nil, err
	}
	if err := checkClient(client, "two leaders could be elected"); err != nil {
		return nil, err
	}
	return &Breaker{
		client: client, keys: newBreakerKeys(cmp.Or(c.Prefix, defaultPrefix), c.Name), scripts: newBreakerScripts(), pingAfter: pingAfter,
	}, nil
}

// Close implements [breakerstore.Store]. It does nothing, and leaves the client open.
func (b *Breaker) Close() error { return nil }

// breakerKeys are the keys of a breaker. The part in braces is the hash tag: a cluster stores keys
// with the same tag on the same node. All keys of one script have the same tag, and shards have
// different tags.
type breakerKeys struct {
	shards [breakerstore.NumShards]string
	lease  string
	probes string // the start of a key; the record's ID and the generation follow
	change string // a channel
}

// newBreakerKeys URL-encodes the name. A brace in the name would end the tag, and a slash could
// make the keys of two names equal.
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

// probe returns the key of the probe counter for one generation of a circuit.
func (k *breakerKeys) probe(id breakerstore.RecordID, generation uint64) string {
	return k.probes + hex.EncodeToString(id[:]) + ":" + strconv.FormatUint(generation, 10)
}

// breakerScripts are the scripts of a breaker, one for each step.
type breakerScripts struct {
	campaign, resign, clock, apply, probe *redis.Script
}

func newBreakerScripts() breakerScripts {
	return breakerScripts{
		script("breaker_campaign"), script("breaker_resign"), script("breaker_clock"), script("breaker_apply"), script("breaker_probe"),
	}
}
