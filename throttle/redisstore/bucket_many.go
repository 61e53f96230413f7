package redisstore

import (
	"context"
	"errors"
	"fmt"
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
	_ bucketstore.Many   = (*Bucket)(nil)
	_ bucketstore.Parted = (*Bucket)(nil)
	_ bucketstore.Warmer = (*Bucket)(nil)
)

// TakeMany implements [bucketstore.Many]. It is one pipeline of script calls.
func (b *Bucket) TakeMany(ctx context.Context, rs []bucketstore.Request) []bucketstore.Answer {
	answers := make([]bucketstore.Answer, len(rs))
	all := make([]int, len(rs))
	for i := range all {
		all[i] = i
	}
	for missing := b.pipeline(ctx, rs, answers, all); len(missing) > 0; missing = b.pipeline(ctx, rs, answers, missing[1:]) {
		// A node did not have the script. A single call sends its text.
		first := missing[0]
		answers[first].Decision, answers[first].Err = b.Take(ctx, rs[first])
	}
	return answers
}

// pipeline makes some of the requests in one round trip. It returns those for which a node did not
// have the script.
func (b *Bucket) pipeline(ctx context.Context, rs []bucketstore.Request, answers []bucketstore.Answer, some []int) (missing []int) {
	pipe := b.client.Pipeline()
	sent := make([]*redis.Cmd, len(some))
	for n, i := range some {
		r := &rs[i]
		r.Limit = r.Limit.WithDefaults()
		if err := checkRequest(*r); err != nil {
			answers[i].Err = fmt.Errorf("redisstore: take: %w", err)
			continue
		}
		script, args := b.scripts.takeArgs(*r)
		sent[n] = pipe.EvalSha(ctx, script.Hash(), []string{b.key(r.Key)}, args...)
	}
	notSent := ctx.Err()
	if notSent == nil && pipe.Len() > 0 {
		_, _ = pipe.Exec(ctx) // each command has its error
	}
	for n, i := range some {
		if sent[n] == nil {
			continue
		}
		values, err := sent[n].Slice()
		if notSent != nil {
			err = notSent
		}
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			missing = append(missing, i)
			continue
		}
		var reply bucketReply
		if err != nil {
			err = contextError(ctx, err)
		} else {
			reply, err = parseReply(values)
		}
		answers[i].Decision, answers[i].Err = b.decision(ctx, rs[i], reply, err)
	}
	return missing
}

// Part implements [bucketstore.Parted]. In a cluster it returns the address of the node that has
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

// warmRequest returns a request that takes nothing.
func warmRequest(key string) bucketstore.Request {
	return bucketstore.Request{Key: key, Limit: bucket.PerSecond(1)}
}
