package redisstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// BucketConfig configures the store of a limiter.
type BucketConfig struct {
	// Name is the name of the limiter, the same in all processes of a fleet. Limiters that share a
	// Redis need different names. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is the start of all keys: at most 255 bytes without braces. Default "spillway".
	Prefix string
}

// Bucket is a [bucketstore.Store] in Redis. Create it with [NewBucket]. It is safe for concurrent
// use.
//
// # Keys
//
// Each bucket is one string. This is its key for a limiter called geocoder, with the default
// prefix. The value is a [bucketstore.Level]: At in 19 digits, c and Interval or f and Period,
// Capacity, Used, and 0. If the level has an Other, these four follow in place of the 0, and a 1.
//
//	spillway:bucket:geocoder:<key>    "1795442400000000000 c20000000 50 0 0"
//
// Name and key are URL-encoded, so they may contain any bytes. A key of more than 128 bytes is
// replaced by # and its SHA-256 in hexadecimal digits. In a cluster the buckets are spread over all
// nodes.
//
// A full bucket has no key in Redis. The key of any other bucket expires when the bucket would be
// full, at most a millisecond later. If a key is lost, its bucket is full.
//
// The client needs these permissions. A cluster client also needs +cluster|slots and +command.
//
//	ACL SETUSER spillway on >secret ~spillway:bucket:* +@connection +eval +evalsha +time +get +set +del
//
// # The clock
//
// The clock is that of the server with the bucket, in microseconds. Levels and intervals are in
// nanoseconds, so no rate is rounded: a limit of ten million tokens per second grants ten tokens at
// each microsecond. RetryAfter is rounded up to whole microseconds. A caller that waits for
// RetryAfter finds the tokens, unless another caller has taken them.
//
// # Durability
//
// A flush, an eviction, or a crash without appendonly fills the buckets. The fleet may then take up
// to one capacity more than the limit, for each such loss. A failover gives back the tokens whose taking the
// replica had not received.
//
// A server without free memory (maxmemory with noeviction, which is the right policy here) cannot
// grant tokens, and Take returns an error. Requests for no tokens and denials still work.
//
// A client that retries a call without a reply, as go-redis does by default and always in a cluster, may
// take tokens several times and use them once. A client with [Options] for one server does not retry.
type Bucket struct {
	client  redis.UniversalClient
	prefix  string
	scripts bucketScripts
}

// NewBucket returns a store that uses the client. [Options] returns settings for a client. The
// caller closes the client. NewBucket sends nothing to Redis, so a process starts even if Redis
// does not answer.
func NewBucket(client redis.UniversalClient, c BucketConfig) (*Bucket, error) {
	if err := checkNames("BucketConfig", c.Name, c.Prefix); err != nil {
		return nil, err
	}
	if err := checkClient(client, "its buckets would all be full"); err != nil {
		return nil, err
	}
	return &Bucket{client: client, prefix: bucketPrefix(cmp.Or(c.Prefix, defaultPrefix), c.Name), scripts: newBucketScripts()}, nil
}

// Reset implements [bucketstore.Store]. It is one DEL.
func (b *Bucket) Reset(ctx context.Context, key string) error {
	key = b.key(key)
	err := ctx.Err()
	if err == nil {
		err = b.client.Del(ctx, key).Err()
	}
	return failed("reset", key, b.callError(ctx, err))
}

// Cancelable implements [bucketstore.Cancelable]. It returns the client's ContextTimeoutEnabled,
// which [Options] sets.
func (b *Bucket) Cancelable() bool {
	switch c := b.client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// Close implements [bucketstore.Store]. It does nothing, and leaves the client open.
func (b *Bucket) Close() error { return nil }

// maxPlainKey is the length in bytes of the longest key that is not hashed. Hashing bounds the
// memory that a key needs in Redis.
const maxPlainKey = 128

// bucketPrefix returns the start of all keys of a store. The name is encoded, so it contains no
// colon.
func bucketPrefix(prefix, name string) string {
	return prefix + ":bucket:" + url.QueryEscape(name) + ":"
}

// key returns the Redis key of a bucket. It encodes braces too: in a cluster, braces choose the
// node, and a client could put all its keys on one node. A hashed key begins with #, which no
// encoded key contains.
func (b *Bucket) key(key string) string {
	if len(key) > maxPlainKey {
		sum := sha256.Sum256([]byte(key))
		return b.prefix + "#" + hex.EncodeToString(sum[:])
	}
	return b.prefix + url.QueryEscape(key)
}

// bucketScripts are the scripts of a bucket, one for each step. Each begins with the clock.
type bucketScripts struct {
	take, takeFixed, giveBack, swap *redis.Script
}

func newBucketScripts() bucketScripts {
	const clock = "bucket_clock"
	return bucketScripts{
		script(clock, "bucket_take"), script(clock, "bucket_take_fixed"), script(clock, "bucket_return"), script(clock, "bucket_swap"),
	}
}

const (
	warmConnections = 4    // that Warm opens to each node
	warmKeys        = 1024 // that are tried to find one on each node
)

var (
	_ bucketstore.ManyTaker   = (*Bucket)(nil)
	_ bucketstore.Partitioned = (*Bucket)(nil)
	_ bucketstore.Warmer      = (*Bucket)(nil)
)

// Part implements [bucketstore.Partitioned]. In a cluster it returns the address of the node that has
// the key, as far as the client has learned the nodes.
func (b *Bucket) Part(key string) string {
	c, ok := b.client.(*redis.ClusterClient)
	if !ok {
		return ""
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // with an ended context a client does not ask the server
	node, err := c.MasterForKey(ended, b.key(key))
	if err != nil {
		return ""
	}
	return node.Options().Addr
}

// Warm implements [bucketstore.Warmer]. It opens connections to each node, and loads the script of
// Take there.
func (b *Bucket) Warm(ctx context.Context) error {
	if _, err := b.Take(ctx, warmRequest("0")); err != nil { // a cluster client learns its nodes
		return err
	}
	warmed := map[string]bool{}
	results := make(chan error)
	for i := range warmKeys {
		key := strconv.Itoa(i)
		node := b.Part(key)
		if warmed[node] {
			continue
		}
		warmed[node] = true
		for range warmConnections {
			go func() {
				_, err := b.Take(ctx, warmRequest(key))
				results <- err
			}()
		}
	}
	var errs []error
	for range len(warmed) * warmConnections {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

func warmRequest(key string) bucketstore.Request {
	return bucketstore.Request{Key: key, Limit: bucket.PerSecond(1)}
}
