package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// noScriptError is the reply of a server that does not have a script.
type noScriptError struct{}

func (noScriptError) Error() string { return "NOSCRIPT No matching script." }
func (noScriptError) RedisError()   {}

// TestTakeMany checks that all requests are in one pipeline, that a missing script is sent in a second one, and
// that an error concerns one request.
func TestTakeMany(t *testing.T) {
	loaded := false
	s := &server{answer: func(cmd redis.Cmder) error {
		switch {
		case cmd.Name() == "eval":
			loaded = true
		case !loaded:
			return noScriptError{}
		}
		if strings.HasSuffix(cmd.Args()[3].(string), ":bad") {
			cmd.(*redis.Cmd).SetVal("x")
			return nil
		}
		reply := []any{"1", "0", "", "0000000001200000000 c200000000 5 0 0"}
		if strings.HasSuffix(cmd.Args()[3].(string), ":empty") {
			reply = []any{"1", "0", "0000000002000000000 c200000000 5 0 0"}
		}
		cmd.(*redis.Cmd).SetVal(reply)
		return nil
	}}
	b := newBucket(t, s)
	request := func(key string, atLeast int64) bucketstore.Request {
		return bucketstore.Request{Key: key, Limit: bucket.PerSecond(5), Min: atLeast, Max: 1}
	}
	rs := []bucketstore.Request{request("a", 1), request("b", 1), request("bad", 1), request("invalid", 2), request("empty", 1)}
	answers := b.TakeMany(t.Context(), rs)
	if len(answers) != len(rs) || !slices.Equal(s.pipes, []int{4, 4}) {
		t.Fatalf("%d answers, pipelines of %d; want %d and two of 4", len(answers), s.pipes, len(rs))
	}
	for i, a := range answers {
		if (a.Err != nil) != (i == 2 || i == 3) || a.Decision.Allowed != (i < 2) {
			t.Errorf("%s: %+v", rs[i].Key, a)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := len(s.asked)
	for _, a := range b.TakeMany(ctx, rs[:2]) {
		if !errors.Is(a.Err, context.Canceled) || len(s.asked) != before {
			t.Errorf("a context that has ended: %+v, %d commands", a, len(s.asked)-before)
		}
	}
}

// TestTakeMany_AnotherLimit wants one more pipeline for all buckets whose level is of another limit, and one more for
// each round of lost races. A request that loses all is denied: an error would make the limiter decide alone.
func TestTakeMany_AnotherLimit(t *testing.T) {
	const level = "0000000000000000000 c300000000 5 0 0"
	races, swap := map[string]int{"b": 0, "c": 2, "d": maxSwaps}, newBucketScripts().swap.Hash()
	s := &server{answer: func(cmd redis.Cmder) error {
		args := cmd.Args()
		key := args[3].(string)
		key = key[strings.LastIndex(key, ":")+1:]
		reply := []any{"1", "0", level}
		if races[key]--; args[1] == swap && races[key] < -1 {
			reply = append(reply, args[5])
		}
		if key == "a" {
			reply = []any{"1", "0", "", "0000000001200000000 c200000000 5 0 0"}
		}
		cmd.(*redis.Cmd).SetVal(reply)
		return nil
	}}
	var rs []bucketstore.Request
	for _, key := range []string{"a", "b", "c", "d"} {
		rs = append(rs, bucketstore.Request{Key: key, Limit: bucket.PerSecond(5), Min: 1, Max: 1})
	}
	answers := newBucket(t, s).TakeMany(t.Context(), rs)
	for i, a := range answers {
		if a.Err != nil || a.Decision.Allowed != (i < 3) || a.Decision.Limit != 5 {
			t.Errorf("%s: got %+v", rs[i].Key, a)
		}
	}
	if got, want := answers[3].Decision, (bucket.Decision{Limit: 5, RetryAfter: time.Millisecond, ResetAfter: 200 * time.Millisecond}); got != want {
		t.Errorf("d: got %+v want %+v", got, want)
	}
	if want := 4 + 3 + 2 + 2 + maxSwaps - 3; !slices.Equal(s.pipes, []int{4, 3, 2, 2}) || len(s.asked) != want {
		t.Errorf("got pipelines of %v and %d commands want 4, 3, 2, 2, and %d", s.pipes, len(s.asked), want)
	}
}

// TestPart_UnknownNodes checks that Part does not wait for a cluster whose nodes are unknown.
func TestPart_UnknownNodes(t *testing.T) {
	client := redis.NewUniversalClient(Options(deadAddress, deadAddress))
	defer client.Close()
	b := throttle.Must(NewBucket(client, BucketConfig{Name: "b"}))
	if part := b.Part("k"); part != "" {
		t.Errorf("got %q want none", part)
	}
}
