package redisstore

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
	for _, answer := range []any{
		nil, "x", int64(1),
		[]any{},
		[]any{"1", "", ""},
		[]any{nil, nil, nil},
		[]any{int64(1), "", "200000001 0"},
		[]any{"1", "", "200000001 0", ""},
		[]any{"x", "", "200000001 0"},
		[]any{"-1", "", "199999999 0"},
		[]any{"1", "x", "200000001 0"},
		[]any{"1", "5", "200000001 0"},
		[]any{"1", "-5 0", "200000001 0"},
		[]any{"1", "", "200000002 0"},
		[]any{"1", "", "200000001 1"},
		[]any{"1", "", "200000001 0 0"},
		[]any{"9223372036854775808", "", "200000001 0"},
	} {
		if err := bucketSteps(newBucket(t, says(answer)))["take"](t.Context()); err == nil {
			t.Errorf("%v: got no error want one", answer)
		}
	}
}

func TestBucketDecides(t *testing.T) {
	request := bucketstore.Request{Key: "k", Limit: bucket.PerSecond(5), Min: 2, Max: 3}
	for _, c := range []struct {
		answer []any
		want   bucket.Decision
	}{
		{[]any{"1", "", "600000001 0"}, bucket.Decision{Allowed: true, Granted: 3, Remaining: 2, Limit: 5, ResetAfter: 600 * time.Millisecond}},
		{
			[]any{"1000", "600001000 0", "1000001000 0"},
			bucket.Decision{Allowed: true, Granted: 2, Limit: 5, RetryAfter: 200 * time.Millisecond, ResetAfter: time.Second},
		},
		{
			[]any{"1000", "800001000 0", "800001000 0"},
			bucket.Decision{Remaining: 1, Limit: 5, RetryAfter: 200 * time.Millisecond, ResetAfter: 800 * time.Millisecond},
		},
	} {
		got, err := newBucket(t, says(c.answer)).Take(t.Context(), request)
		if err != nil || got != c.want {
			t.Errorf("%v: got %+v, error %v want %+v", c.answer, got, err, c.want)
		}
	}
}

// TestBucketArguments wants no number to overflow that a request may have.
func TestBucketArguments(t *testing.T) {
	const most = math.MaxInt64
	widest := bucket.Limit{Capacity: most, Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}.WithDefaults()
	finest := bucket.Limit{Capacity: int64(3660 * 24 * time.Hour), Refill: int64(time.Hour), Period: time.Hour}
	for name, c := range map[string]struct{ got, want []any }{
		"take":         {takeArgs(bucketstore.Request{Limit: bucket.PerSecond(5), Min: 1, Max: 2}), []any{"continuous", int64(2e8), int64(1e9), int64(2e8), int64(4e8)}},
		"take all":     {takeArgs(bucketstore.Request{Limit: bucket.PerSecond(5), Max: most}), []any{"continuous", int64(2e8), int64(1e9), int64(0), int64(1e9)}},
		"finest":       {takeArgs(bucketstore.Request{Limit: finest, Max: most}), []any{"continuous", int64(1), finest.Capacity, int64(0), finest.Capacity}},
		"fixed":        {takeArgs(bucketstore.Request{Limit: widest, Min: most, Max: most}), []any{"fixed", int64(widest.Period), int64(most), int64(most), int64(most)}},
		"return":       {returnArgs(bucket.PerSecond(5), 3), []any{"continuous", int64(2e8), int64(6e8)}},
		"return much":  {returnArgs(bucket.PerSecond(5), most), []any{"continuous", int64(2e8), int64(1e9)}},
		"return less":  {returnArgs(bucket.PerSecond(5), -most), []any{"continuous", int64(2e8), int64(0)}},
		"return fixed": {returnArgs(widest, most), []any{"fixed", int64(widest.Period), int64(most)}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v want %v", name, c.got, c.want)
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
		b, err := NewBucket(tt.client, BucketConfig{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		var shared bucketstore.Store = b
		if p, ok := shared.(bucketstore.Cancelable); !ok || p.Cancelable() != tt.want {
			t.Errorf("%s: cancelable %t, %t, want %t", name, ok, b.Cancelable(), tt.want)
		}
	}
}
