package redisstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"reflect"
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
		if got := parseLevel(formatLevel(v)); got != v {
			t.Errorf("%s: got %+v want %+v", formatLevel(v), got, v)
		}
	}
	for _, text := range []string{
		"", "x", "1 0", "1 c2 3 0 0", "0000000000000000001 c2 3 0", "0000000000000000001 c2 3 0 0 0", "0000000000000000001 c2 3 1 0",
		"0000000000000000001 x2 3 0 0", "0000000000000000001  3 0 0", "0000000000000000001 c0 3 0 0", "0000000000000000001 c2 0 0 0",
		"0000000000000000001 c2 3 0 1", "0000000000000000001 c2 3 0 0000000000000000001 c2 3 0 0", "0000000000000000001 c2 3 0 0000000000000000001 c0 3 0 1",
		"-000000000000000001 c2 3 0 0", "9999999999999999999 c2 3 0 0", "0000000000000000001 f2 3 -1 0",
	} {
		if got := parseLevel(text); got != (bucketstore.Level{}) {
			t.Errorf("%s: got %+v want a full bucket", text, got)
		}
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
	if len(s.asked) > 0 {
		t.Errorf("got %v want nothing asked", s.asked)
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
		if got := b.key(key); got != want {
			t.Errorf("%q: got %s want %s", key, got, want)
		}
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
