package redisstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
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
		client: client, keys: newBreakerKeys(cmp.Or(c.Prefix, defaultPrefix), c.Name), pingAfter: pingAfter,
		scripts: breakerScripts{
			script("breaker_campaign"), script("breaker_resign"), script("breaker_clock"), script("breaker_apply"), script("breaker_probe"),
		},
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
type breakerScripts struct{ campaign, resign, clock, apply, probe *redis.Script }

// Campaign implements [breakerstore.Store].
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (lease breakerstore.Lease, err error) {
	reply, err := run(ctx, b.client, b.scripts.campaign, []string{b.keys.lease}, c.Owner, microseconds(c.TTL))
	if err == nil {
		lease, err = parseLease(reply)
	}
	return lease, failed("campaign", b.keys.lease, err)
}

func parseLease(reply []any) (breakerstore.Lease, error) {
	if len(reply) == 3 {
		owner, ok1 := reply[0].(string)
		digits, ok2 := reply[1].(string)
		remaining, ok3 := reply[2].(int64)
		if term, err := strconv.ParseUint(digits, 10, 64); ok1 && ok2 && ok3 && err == nil {
			return breakerstore.Lease{Owner: owner, Term: term, Remaining: duration(remaining)}, nil
		}
	}
	return breakerstore.Lease{}, fmt.Errorf("%w: %.200q", errReply, reply)
}

// Resign implements [breakerstore.Store].
func (b *Breaker) Resign(ctx context.Context, l breakerstore.Lease) error {
	_, err := run(ctx, b.client, b.scripts.resign, []string{b.keys.lease}, l.Owner, strconv.FormatUint(l.Term, 10))
	return failed("resign", b.keys.lease, err)
}

// probesPerCall is the number of requests in one script call. Redis runs nothing else meanwhile,
// and a call of this size takes it about one millisecond.
const probesPerCall = 256

// Probe implements [breakerstore.Store]. If it fails, Redis may have counted probes that no manager
// uses. It never grants more than the budget.
func (b *Breaker) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("probe", "", err)
	}
	for i, r := range requests {
		if r.Every <= 0 {
			return nil, fmt.Errorf("redisstore: probe: request %d: Every is %v: want more than 0", i, r.Every)
		}
	}
	grants := make([]breakerstore.ProbeGrant, 0, len(requests))
	for chunk := range slices.Chunk(requests, probesPerCall) {
		granted, err := b.probe(ctx, chunk)
		if err != nil {
			return nil, failed("probe", b.keys.probes+"*", err)
		}
		grants = append(grants, granted...)
	}
	return grants, nil
}

func (b *Breaker) probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	keys, args := make([]string, len(requests)), make([]any, 0, 4*len(requests))
	for i, r := range requests {
		keys[i] = b.keys.probe(r.ID, r.Generation)
		every := microseconds(r.Every)
		args = append(args, sinceMicros(r.Since, every), every, r.Budget, r.Want)
	}
	reply, err := run(ctx, b.client, b.scripts.probe, keys, args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != 2*len(requests) {
		return nil, fmt.Errorf("%w: %.200q", errReply, reply)
	}
	grants := make([]breakerstore.ProbeGrant, len(requests))
	for i := range grants {
		granted, ok1 := reply[2*i].(int64)
		remaining, ok2 := reply[2*i+1].(int64)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("%w: %.200q", errReply, reply)
		}
		grants[i] = breakerstore.ProbeGrant{Granted: int(granted), Remaining: duration(remaining)}
	}
	return grants, nil
}

// sinceMicros converts a time for a script. It moves a time before 1970 forward by whole periods,
// to the first period that begins in 1970 or later. The reason is the zero time: numbers of Lua
// cannot hold it exactly.
func sinceMicros(since time.Time, every int64) int64 {
	micros := min(since.UnixMicro(), maxMicros)
	if micros < 0 {
		micros = (micros%every + every) % every
	}
	return micros
}

// pingAfter is the time without a message after which Watch sends a PING.
const pingAfter = 5 * time.Second

// Watch implements [breakerstore.Watcher]. It also calls changed after each subscription, the first
// one and the one after a lost connection, because earlier messages may have been missed. It
// returns an error if Redis cannot be reached twice in a row.
func (b *Breaker) Watch(ctx context.Context, changed func()) error {
	channel := b.client.Subscribe(ctx)
	defer channel.Close()
	// A canceled context does not end a read on the socket. Closing the connection does.
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	if err := channel.Subscribe(ctx, b.keys.change); err != nil {
		return b.watchError(ctx, err)
	}
	for failed := false; ; {
		message, err := channel.ReceiveTimeout(ctx, b.pingAfter)
		switch {
		case ctx.Err() != nil, err != nil && (failed || isServerError(err)):
			return b.watchError(ctx, err)
		case err != nil: // no message for pingAfter, or a lost connection; PING makes a new one
			_ = channel.Ping(ctx)
		case isChange(message):
			changed()
		}
		failed = err != nil
	}
}

// watchError returns the error of Watch. If the context has ended, that is the reason for the
// closed connection.
func (b *Breaker) watchError(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return failed("watch", b.keys.change, err)
}

// isChange reports whether a message is a change or the start of a subscription, and not the reply
// to a PING.
func isChange(message any) bool {
	_, pong := message.(*redis.Pong)
	return !pong
}
