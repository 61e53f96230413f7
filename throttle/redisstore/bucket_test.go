package redisstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

var _ bucketstore.Store = (*Bucket)(nil)

// bucketSteps are what is asked of a store.
func bucketSteps(b *Bucket) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"take": func(ctx context.Context) error {
			_, err := b.Take(ctx, bucketstore.Request{Key: "k", Limit: bucket.PerSecond(5), Min: 1, Max: 1})
			return err
		},
		"return": func(ctx context.Context) error { return b.Return(ctx, "k", bucket.PerSecond(5), 1) },
		"reset":  func(ctx context.Context) error { return b.Reset(ctx, "k") },
	}
}

// TestBucketUnexpectedReplies are errors and nothing worse: also one in which the level that follows is not the one that must.
func TestBucketUnexpectedReplies(t *testing.T) {
	const before, after = "0000000000000000000 c200000000 5 0 0", "0000000000200001000 c200000000 5 0 0"
	huge := strings.Repeat("9", 1<<20)
	for _, answer := range []any{
		nil, "x", int64(1),
		[]any{},
		[]any{"0", "1", nil},
		[]any{nil, nil, nil},
		[]any{int64(0), "1", "", after},
		[]any{"0", "1"},
		[]any{"0", "1", "", after, ""},
		[]any{"x", "1", "", after},
		[]any{"0", "x", "", after},
		[]any{"-1", "1", "", after},
		[]any{"0", "-1", "", after},
		[]any{"0", "1", "", "0000000000200002000 c200000000 5 0 0"},
		[]any{"0", "1", before, "0000000000200001000 c200000000 6 0 0"},
		[]any{"0", "1", before, "0000000000200001000 c200000000 5 0 1"},
		[]any{"0", "1", before, "0000000000200001000 f200000000 5 1 0"},
		[]any{"0", "1", before, before},
		[]any{"0", "1", "", ""},
		[]any{"9223372036", "1", "", after},
		[]any{"9999999999999", "1", "", after},
		[]any{huge, huge, huge},
		[]any{evil, evil, evil},
		[]any{[]any{}, map[any]any{}, 1.5},
	} {
		if err := bucketSteps(newBucket(t, says(answer)))["take"](t.Context()); err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.100q: got %.100v want a short error", answer, err)
		}
	}
}

// TestBucketLevels wants every level to be read as it was written, and everything else to be a full bucket.
func TestBucketLevels(t *testing.T) {
	const most = math.MaxInt64
	for _, v := range []bucketstore.Level{
		{At: 1, Interval: 2, Capacity: 3},
		{At: most, Interval: most, Capacity: most},
		{At: 5, Used: most, Period: 6, Capacity: 7},
		{At: 1, Interval: 2, Capacity: 3, Other: bucketstore.Other{At: most, Used: most, Period: most, Capacity: most}},
		{At: 5, Used: 1, Period: 6, Capacity: 7, Other: bucketstore.Other{At: 1, Interval: 2, Capacity: 3}},
	} {
		equals(t, parseLevel(formatLevel(v)), v, "%s", formatLevel(v))
	}
	for _, text := range []string{
		"", "x", "1 0", "1 c2 3 0 0", "0000000000000000001 c2 3 0", "0000000000000000001 c2 3 0 0 0", "0000000000000000001 c2 3 1 0",
		"0000000000000000001 x2 3 0 0", "0000000000000000001  3 0 0", "0000000000000000001 c0 3 0 0", "0000000000000000001 c2 0 0 0",
		"0000000000000000001 c2 3 0 1", "0000000000000000001 c2 3 0 0000000000000000001 c2 3 0 0", "0000000000000000001 c2 3 0 0000000000000000001 c0 3 0 1",
		"-000000000000000001 c2 3 0 0", "9999999999999999999 c2 3 0 0", "0000000000000000001 f2 3 -1 0",
	} {
		equals(t, parseLevel(text), bucketstore.Level{}, "%s, which is a full bucket", text)
	}
}

// TestBucketArguments wants only numbers with which Lua computes exactly. If a limit has others, the script only reads.
func TestBucketArguments(t *testing.T) {
	const most = math.MaxInt64
	widest := bucket.Limit{Capacity: most, Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}.WithDefaults()
	finest := bucket.Limit{Capacity: int64(3660 * 24 * time.Hour), Refill: int64(time.Hour), Period: time.Hour}
	odd := bucket.Limit{Capacity: 5, Period: time.Second + 1, Algorithm: bucket.Fixed}
	hourly := bucket.Limit{Capacity: 5, Period: time.Hour, Algorithm: bucket.Fixed}
	scripts := newBucketScripts()
	for name, c := range map[string]struct {
		request bucketstore.Request
		want    []any
	}{
		"take":     {bucketstore.Request{Limit: bucket.PerSecond(5), Min: 1, Max: 2}, []any{" c200000000 5 0 0", int64(2e8), int64(1e9), int64(2e8), int64(4e8)}},
		"take all": {bucketstore.Request{Limit: bucket.PerSecond(5), Max: most}, []any{" c200000000 5 0 0", int64(2e8), int64(1e9), int64(0), int64(1e9)}},
		"fixed":    {bucketstore.Request{Limit: hourly, Min: 1, Max: most}, []any{"000 f3600000000000 5 ", int64(3.6e9), int64(5), int64(1), int64(5)}},
		"finest":   {bucketstore.Request{Limit: finest, Max: most}, readArgs()},
		"widest":   {bucketstore.Request{Limit: widest, Min: most, Max: most}, readArgs()},
		"odd":      {bucketstore.Request{Limit: odd, Max: 1}, readArgs()},
	} {
		if _, got := scripts.takeArgs(c.request); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v want %v", name, got, c.want)
		}
	}
}

// TestBucketInvalidRequests wants errors, and no command to the server.
func TestBucketInvalidRequests(t *testing.T) {
	s := says(nil)
	b := newBucket(t, s)
	take := func(l bucket.Limit, least, most int64) error {
		_, err := b.Take(t.Context(), bucketstore.Request{Limit: l, Min: least, Max: most})
		return err
	}
	for name, err := range map[string]error{
		"no capacity":     take(bucket.Limit{}, 0, 0),
		"negative period": take(bucket.Limit{Capacity: 1, Period: -1}, 1, 1),
		"too much":        take(bucket.PerSecond(5), 6, 6),
		"negative":        take(bucket.PerSecond(5), -1, 1),
		"min above max":   take(bucket.PerSecond(5), 2, 1),
		"algorithm":       take(bucket.Limit{Capacity: 1, Algorithm: 7}, 1, 1),
		"return":          b.Return(t.Context(), "k", bucket.Limit{Capacity: -1}, 1),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "redisstore: ") {
			t.Errorf("%s: got error %v want redisstore:", name, err)
		}
	}
	equals(t, len(s.asked), 0, "commands")
}

// TestBucketNotSent wants a pool without a free connection not to count as a failure of Redis.
func TestBucketNotSent(t *testing.T) {
	full := &server{answer: func(redis.Cmder) error { return redis.ErrPoolTimeout }}
	for name, step := range bucketSteps(newBucket(t, full)) {
		if err := step(t.Context()); !errors.Is(err, bucketstore.ErrNotSent) || !errors.Is(err, redis.ErrPoolTimeout) {
			t.Errorf("%s: got error %v want ErrNotSent and that of the client", name, err)
		}
	}
}

// TestBucketCancelable wants the setting of the client, which is off by default.
func TestBucketCancelable(t *testing.T) {
	for name, tt := range map[string]struct {
		client redis.UniversalClient
		want   bool
	}{
		"ours":          {redis.NewUniversalClient(Options("localhost:1")), true},
		"ours, cluster": {redis.NewUniversalClient(Options("localhost:1", "localhost:2")), true},
		"by default":    {redis.NewClient(&redis.Options{Addr: "localhost:1"}), false},
		"cluster":       {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}}), false},
	} {
		defer tt.client.Close()
		b := throttle.Must(NewBucket(tt.client, BucketConfig{Name: "x"}))
		var shared bucketstore.Store = b
		if p, ok := shared.(bucketstore.Cancelable); !ok || p.Cancelable() != tt.want {
			t.Errorf("%s: cancelable %t, %t, want %t", name, ok, b.Cancelable(), tt.want)
		}
	}
}

func TestBucketKeysAsDocumented(t *testing.T) {
	b := newBucket(t, says(nil))
	long := strings.Repeat("k", 129)
	for key, want := range map[string]string{
		"":         "spillway:bucket:b:",
		"tenant":   "spillway:bucket:b:tenant",
		"a:{b}/#":  "spillway:bucket:b:a%3A%7Bb%7D%2F%23",
		"\x00\xff": "spillway:bucket:b:%00%FF",
		long[1:]:   "spillway:bucket:b:" + long[1:],
		long:       fmt.Sprintf("spillway:bucket:b:#%x", sha256.Sum256([]byte(long))),
	} {
		equals(t, b.key(key), want, "%q", key)
	}
}

// FuzzBucketKey wants keys that differ to stay apart, also from those of other names, and none to choose its place in a cluster.
func FuzzBucketKey(f *testing.F) {
	f.Add("a", "b:c", "a:b", "c")
	f.Add("a", "", "a:", "")
	f.Add("a", "{x}", "{a", "}")
	f.Add("a", strings.Repeat("k", 200), "a", strings.Repeat("k", 129))
	f.Fuzz(func(t *testing.T, name1, key1, name2, key2 string) {
		one, two := &Bucket{prefix: bucketPrefix("p", name1)}, &Bucket{prefix: bucketPrefix("p", name2)}
		got1, got2 := one.key(key1), two.key(key2)
		if same := name1 == name2 && key1 == key2; (got1 == got2) != same {
			t.Errorf("%q, %q and %q, %q: got %s and %s", name1, key1, name2, key2, got1, got2)
		}
		if strings.ContainsAny(got1, "{}") {
			t.Errorf("%q, %q: got %s want no braces", name1, key1, got1)
		}
	})
}

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
	equals(t, answers[3].Decision, bucket.Decision{Limit: 5, RetryAfter: time.Millisecond, ResetAfter: 200 * time.Millisecond}, "d")
	if want := 4 + 3 + 2 + 2 + maxSwaps - 3; !slices.Equal(s.pipes, []int{4, 3, 2, 2}) || len(s.asked) != want {
		t.Errorf("got pipelines of %v and %d commands want 4, 3, 2, 2, and %d", s.pipes, len(s.asked), want)
	}
}

// TestPart_UnknownNodes checks that Part does not wait for a cluster whose nodes are unknown.
func TestPart_UnknownNodes(t *testing.T) {
	client := redis.NewUniversalClient(Options(deadAddress, deadAddress))
	defer client.Close()
	b := throttle.Must(NewBucket(client, BucketConfig{Name: "b"}))
	equals(t, b.Part("k"), "", "the part")
}
