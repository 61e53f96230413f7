package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// maxSwaps is how often a call is repeated because other calls change the bucket at the same time. This
// only happens to a limit that differs from the limit of the other calls.
const maxSwaps = 300

var errLostRaces = errors.New("other calls change the bucket too often")

// bucketCall is a call of a script, and perhaps of the one that swaps after it.
type bucketCall struct {
	key      string // of Redis
	script   *redis.Script
	args     []any
	withText bool // a node does not have the script
	sent     *redis.Cmd
	err      error

	// step computes the level after the call. The script has computed it too, or has left it to the client.
	step func(v bucketstore.Level, now int64) bucketstore.Level
}

// call makes calls until none has lost a race. It sends those that are open in one pipeline, which costs more than a
// command if there is one.
func (b *Bucket) call(ctx context.Context, open ...*bucketCall) {
	for n := 0; n <= maxSwaps && len(open) > 0; n++ {
		if err := ctx.Err(); err != nil {
			setErr(open, err)
			return
		}
		var to redis.Scripter = b.client
		pipe := b.client.Pipeline()
		if len(open) > 1 {
			to = pipe
		}
		for _, c := range open {
			send := c.script.EvalSha
			if c.withText {
				send = c.script.Eval
			}
			c.sent = send(ctx, to, []string{c.key}, c.args...)
		}
		if len(open) > 1 {
			_, _ = pipe.Exec(ctx) // each command has its error
		}
		open = slices.DeleteFunc(open, func(c *bucketCall) bool { return b.end(ctx, c) })
	}
	setErr(open, errLostRaces)
}

func setErr(calls []*bucketCall, err error) {
	for _, c := range calls {
		c.err = err
	}
}

// callError is the function of that name, and wraps ErrNotSent if no connection of the pool was free.
func (b *Bucket) callError(ctx context.Context, err error) error {
	if errors.Is(err, redis.ErrPoolTimeout) {
		err = fmt.Errorf("%w: %w", bucketstore.ErrNotSent, err)
	}
	return callError(ctx, b.client, err)
}

// end ends a call after the reply of its script. It returns false if the call must go on: with the text of
// the script, or with a swap.
func (b *Bucket) end(ctx context.Context, c *bucketCall) bool {
	swap := b.scripts.swap
	values, err := c.sent.Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") && !c.withText {
		c.withText = true
		return false
	}
	if err != nil {
		c.err = b.callError(ctx, err)
		return true
	}
	reply, err := parseReply(values)
	if err != nil || c.script == swap && reply.changed {
		c.err = err
		return true
	}
	args, err := c.swap(reply)
	if err != nil || args == nil {
		c.err = err
		return true
	}
	c.script, c.args, c.withText = swap, args, false
	return false
}

// swap returns the arguments of the script that swaps, or nil if the reply of a script needs no swap. It
// returns an error if the script has written another level than the step computes.
func (c *bucketCall) swap(reply bucketReply) (args []any, err error) {
	before := parseLevel(reply.before)
	next := c.step(before, reply.now)
	if next == before && !reply.changed {
		return nil, nil
	}
	after := ""
	if next.FullAt() > reply.now {
		after = formatLevel(next)
	}
	switch {
	case !reply.changed:
		return []any{reply.before, after, next.FullAt()/1e6 + 1}, nil
	case after != reply.after:
		return nil, fmt.Errorf("%w: %.200q", errReply, reply.after)
	}
	return nil, nil
}

// Take implements [bucketstore.Store]. It is one script call, and a second one if the level is
// of another limit or of two, or if the limit has numbers of more than 52 bits. If it fails, the tokens may
// be taken all the same.
func (b *Bucket) Take(ctx context.Context, r bucketstore.Request) (bucket.Decision, error) {
	a := b.TakeMany(ctx, []bucketstore.Request{r})[0]
	return a.Decision, a.Err
}

// TakeMany implements [bucketstore.ManyTaker]. It is one pipeline of script calls, and a second one for the
// requests for which Take makes a second call.
func (b *Bucket) TakeMany(ctx context.Context, rs []bucketstore.Request) []bucketstore.Answer {
	answers, calls := make([]bucketstore.Answer, len(rs)), make([]*bucketCall, len(rs))
	open := make([]*bucketCall, 0, len(rs))
	for i, r := range rs {
		r.Limit = r.Limit.WithDefaults()
		if err := checkRequest(r); err != nil {
			answers[i].Err = failed("take", "", err)
			continue
		}
		script, args := b.scripts.takeArgs(r)
		d := &answers[i].Decision
		step := func(v bucketstore.Level, now int64) (next bucketstore.Level) {
			next, *d = v.Take(r.Limit, now, r.Min, r.Max)
			return next
		}
		calls[i] = &bucketCall{key: b.key(r.Key), script: script, args: args, step: step}
		open = append(open, calls[i])
	}
	b.call(ctx, open...)
	for i, c := range calls {
		if c != nil {
			answers[i] = taken(rs[i], answers[i].Decision, c)
		}
	}
	return answers
}

// taken returns the answer to a request: the decision of its last step, or the error with the key.
func taken(r bucketstore.Request, d bucket.Decision, c *bucketCall) bucketstore.Answer {
	switch {
	case errors.Is(c.err, errLostRaces): // an error would make the limiter decide without the store
		retry := max(d.RetryAfter, time.Millisecond)
		d = bucket.Decision{Allowed: r.Min == 0, Limit: d.Limit, RetryAfter: retry, ResetAfter: d.ResetAfter}
	case c.err != nil:
		return bucketstore.Answer{Err: failed("take", c.key, c.err)}
	default:
		d.RetryAfter = roundUp(d.RetryAfter)
	}
	return bucketstore.Answer{Decision: d}
}

// Return implements [bucketstore.Store]. It is one script call, and seldom a second one, as Take.
func (b *Bucket) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	l = l.WithDefaults()
	if err := l.Validate(); err != nil {
		return failed("return", "", err)
	}
	n = max(0, n)
	step := func(v bucketstore.Level, now int64) bucketstore.Level { return v.Return(l, now, n) }
	c := bucketCall{key: b.key(key), script: b.scripts.giveBack, args: []any{min(n, exact)}, step: step}
	b.call(ctx, &c)
	return failed("return", c.key, c.err)
}
