package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// BucketConfig says where in Redis buckets are kept.
type BucketConfig struct {
	// Name tells the limiters that share a Redis apart. It is the same in all processes of a fleet. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is what all keys begin with: 1 to 255 bytes without braces. Default "spillway".
	Prefix string
}

func (c BucketConfig) validate() error {
	if c.Name == "" || len(c.Name) > longestName {
		return fmt.Errorf("redisstore: BucketConfig.Name is %.64q: want 1 to %d bytes", c.Name, longestName)
	}
	if len(c.Prefix) > maxPrefix || strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("redisstore: BucketConfig.Prefix is %.64q: want 1 to %d bytes without braces", c.Prefix, maxPrefix)
	}
	return nil
}

// Bucket is a [bucketstore.Store] in Redis. Make it with [NewBucket]. It is safe for concurrent use.
//
// # Keys
//
// Each bucket is one string, with the default prefix and for buckets called geocoder:
//
//	spillway:bucket:geocoder:<key>    "at used": see bucketstore.Level
//
// Name and key are written like parts of a URL, so that they may be any bytes. A key of more than 128 bytes is # and its SHA-256 in
// hexadecimal digits. A full bucket has no key: it expires at the millisecond at which it would be full, rounded up, and if it is lost or
// cannot be read, the bucket is full. In a cluster buckets lie on all nodes.
//
// These are the rights that it takes; a cluster's client also asks for +cluster|slots and +command:
//
//	ACL SETUSER spillway on >secret ~spillway:bucket:* +@connection +eval +evalsha +time +get +set +del
//
// # The clock
//
// Time is that of the server that has the bucket, in microseconds. Levels and intervals are in nanoseconds, and nothing is rounded: ten
// million tokens per second are granted as ten at each microsecond. A token that comes back within a microsecond is granted at the next, so
// RetryAfter is rounded up to whole ones: it is always enough.
//
// # What is kept
//
// A flush, an eviction, or a crash without appendonly fills buckets: a fleet may then take a capacity more than it should, once. A failover
// fills them up to what the replica had not received. A server without memory left (maxmemory with noeviction, which is right
// here) refuses to grant, which is an error; it still answers peeks and what is denied.
//
// A client that tries again what was not answered, as it does by default, may take tokens twice and use them once: [Options] does not.
type Bucket struct {
	client  redis.UniversalClient
	prefix  string
	scripts bucketScripts
}

var errBucketRing = errors.New("redisstore: the client is a Ring, which looks elsewhere for what a server that does not answer had, so that " +
	"its buckets would all be full: want a Client or a ClusterClient")

// NewBucket returns a store that uses the client, which stays the caller's to close: see [Options] for how to make one. It asks
// Redis nothing, so that a process starts also when Redis does not answer.
func NewBucket(client redis.UniversalClient, c BucketConfig) (*Bucket, error) {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if ring, ok := client.(*redis.Ring); ok && ring != nil {
		return nil, errBucketRing
	}
	if err := checkClient(client); err != nil {
		return nil, err
	}
	return &Bucket{client: client, prefix: bucketPrefix(c.Prefix, c.Name), scripts: newBucketScripts()}, nil
}

// Take implements [bucketstore.Store]. It is one script call. If it fails, tokens may have been taken that nobody uses.
func (b *Bucket) Take(ctx context.Context, r bucketstore.Request) (bucket.Decision, error) {
	r.Limit = r.Limit.WithDefaults()
	if err := checkRequest(r); err != nil {
		return bucket.Decision{}, fmt.Errorf("redisstore: take: %w", err)
	}
	key := b.key(r.Key)
	answer, err := run(ctx, b.client, b.scripts.take, []string{key}, takeArgs(r)...)
	if err != nil {
		return bucket.Decision{}, fmt.Errorf("redisstore: take: %s: %w", key, err)
	}
	d, err := parseDecision(r, answer)
	if err != nil {
		return bucket.Decision{}, fmt.Errorf("redisstore: take: %s: %w: %.200q", key, err, answer)
	}
	return d, nil
}

// Return implements [bucketstore.Store]. It is one script call.
func (b *Bucket) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	l = l.WithDefaults()
	if err := l.Validate(); err != nil {
		return fmt.Errorf("redisstore: return: %w", err)
	}
	key = b.key(key)
	if _, err := run(ctx, b.client, b.scripts.giveBack, []string{key}, returnArgs(l, n)...); err != nil {
		return fmt.Errorf("redisstore: return: %s: %w", key, err)
	}
	return nil
}

// Reset implements [bucketstore.Store]. It is one DEL.
func (b *Bucket) Reset(ctx context.Context, key string) error {
	key = b.key(key)
	err := ctx.Err()
	if err == nil {
		err = b.client.Del(ctx, key).Err()
	}
	if err != nil {
		return fmt.Errorf("redisstore: reset: %s: %w", key, contextError(ctx, err))
	}
	return nil
}

// Cancelable implements [bucketstore.Cancelable]: the client's ContextTimeoutEnabled says it, which [Options] sets.
func (b *Bucket) Cancelable() bool {
	switch c := b.client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// Close implements [bucketstore.Store]. It does nothing: the client is its owner's to close.
func (b *Bucket) Close() error { return nil }

// maxPlainKey is how many bytes of a bucket's key are written as they are. What is longer is hashed, so that it costs the server no more.
const maxPlainKey = 128

// bucketPrefix is what the keys of all buckets of a store begin with. The name is encoded, so that it cannot reach into what follows.
func bucketPrefix(prefix, name string) string {
	return prefix + ":bucket:" + url.QueryEscape(name) + ":"
}

// key is where the level of a bucket is. Braces would choose a place in a cluster, and who chooses the keys could bring all of them to
// one server, so they are encoded too. A hash begins with a character that no encoded key contains.
func (b *Bucket) key(key string) string {
	if len(key) > maxPlainKey {
		sum := sha256.Sum256([]byte(key))
		return b.prefix + "#" + hex.EncodeToString(sum[:])
	}
	return b.prefix + url.QueryEscape(key)
}

// The scripts of buckets are the clock, what they share, and a step.
var (
	//go:embed bucket_clock.lua
	bucketClockLua string
	//go:embed bucket_math.lua
	bucketMathLua string
	//go:embed bucket_take.lua
	bucketTakeLua string
	//go:embed bucket_return.lua
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
