package redisstore

import (
	"encoding/hex"
	"net/url"
	"strconv"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// breakerKeys are the names of a breaker's keys. The part in braces is the hash tag: a cluster keeps keys with the same tag together,
// so that a script finds all that it needs in one place, and shards lie on different servers.
type breakerKeys struct {
	shards [store.NumShards]string
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
func (k *breakerKeys) probe(id store.RecordID, generation uint64) string {
	return k.probes + hex.EncodeToString(id[:]) + ":" + strconv.FormatUint(generation, 10)
}
