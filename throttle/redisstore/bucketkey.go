package redisstore

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// longestKey is how many bytes of a bucket's key are written as they are. What is longer is hashed, so that it costs the server no more.
const longestKey = 128

// bucketPrefix is what the keys of all buckets of a store begin with. The name is encoded, so that it cannot reach into what follows.
func bucketPrefix(prefix, name string) string {
	return prefix + ":bucket:" + url.QueryEscape(name) + ":"
}

// key is where the level of a bucket is. Braces would choose a place in a cluster, and who chooses the keys could bring all of them to
// one server, so they are encoded too. A hash begins with a character that no encoded key contains.
func (b *Bucket) key(key string) string {
	if len(key) > longestKey {
		sum := sha256.Sum256([]byte(key))
		return b.prefix + "#" + hex.EncodeToString(sum[:])
	}
	return b.prefix + url.QueryEscape(key)
}
