package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// TakeMany implements [bucketstore.ManyTaker]. It is one pipeline of script calls, and a second one for the
// requests for which Take makes a second call.
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
	var swaps []*swapping
	for n, i := range some {
		if sent[n] == nil {
			continue
		}
		reply, err := manyReply(ctx, sent[n], notSent)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			missing = append(missing, i)
			continue
		}
		s := &swapping{taking: taking{Request: rs[i], key: b.key(rs[i].Key)}, answer: &answers[i]}
		if s.goesOn(reply, err) {
			swaps = append(swaps, s)
		}
	}
	b.swapMany(ctx, swaps)
	return missing
}

// manyReply returns the reply of a script that was called in a pipeline, which may not have been sent.
func manyReply(ctx context.Context, sent *redis.Cmd, notSent error) (r bucketReply, err error) {
	if notSent != nil {
		return r, notSent
	}
	values, err := sent.Slice()
	if err != nil {
		return r, contextError(ctx, err)
	}
	return parseReply(values)
}

// swapping is a request of TakeMany whose level the client computes.
type swapping struct {
	taking

	args   []any // of the script that swaps
	sent   *redis.Cmd
	answer *bucketstore.Answer
}

// goesOn reports whether the request needs a swap after the reply of a script. Otherwise it sets the answer.
func (s *swapping) goesOn(reply bucketReply, err error) bool {
	if err == nil {
		s.args, err = step(s.step).swap(reply)
	}
	if err == nil && s.args != nil {
		return true
	}
	s.answer.Decision, s.answer.Err = s.end(err)
	return false
}

// swapMany settles requests, one pipeline after the other until none has lost a race.
func (b *Bucket) swapMany(ctx context.Context, open []*swapping) {
	for n := 0; n < maxSwaps && len(open) > 0; n++ {
		notSent := ctx.Err()
		if notSent == nil {
			pipe := b.client.Pipeline()
			for _, s := range open {
				s.sent = b.scripts.swap.Eval(ctx, pipe, []string{s.key}, s.args...) // the text, so no node lacks it
			}
			_, _ = pipe.Exec(ctx) // each command has its error
		}
		open = slices.DeleteFunc(open, func(s *swapping) bool {
			reply, err := manyReply(ctx, s.sent, notSent)
			if err == nil && reply.changed {
				s.answer.Decision, s.answer.Err = s.end(nil)
				return true
			}
			return !s.goesOn(reply, err)
		})
	}
	for _, s := range open {
		s.answer.Decision, s.answer.Err = s.end(errLostRaces)
	}
}

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
