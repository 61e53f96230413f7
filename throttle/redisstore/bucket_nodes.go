package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

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
