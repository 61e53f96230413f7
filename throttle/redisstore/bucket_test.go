package redisstore

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
)

var _ bucket.Store = (*Bucket)(nil)

// newBucket is a store called "b" whose server answers as it is told.
func newBucket(t *testing.T, s *server) *Bucket {
	t.Helper()
	client := redis.NewUniversalClient(Options(nowhere))
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(s)
	b, err := NewBucket(client, BucketConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewBucketRefuses(t *testing.T) {
	client, ring := redis.NewUniversalClient(Options(nowhere)), redis.NewRing(&redis.RingOptions{})
	defer client.Close()
	defer ring.Close()
	for name, c := range map[string]struct {
		client redis.UniversalClient
		config BucketConfig
		want   string // in the error; "" is none
	}{
		"good":        {client, BucketConfig{Name: "b"}, ""},
		"any bytes":   {client, BucketConfig{Name: "{\x00\xff}"}, ""},
		"long":        {client, BucketConfig{Name: strings.Repeat("n", 255), Prefix: strings.Repeat("p", 255)}, ""},
		"no name":     {client, BucketConfig{}, `BucketConfig.Name is "": want 1 to 255 bytes`},
		"too long":    {client, BucketConfig{Name: strings.Repeat("n", 256)}, "BucketConfig.Name is \"nnn"},
		"brace":       {client, BucketConfig{Name: "b", Prefix: "a{b"}, `BucketConfig.Prefix is "a{b": want 1 to 255 bytes without braces`},
		"other brace": {client, BucketConfig{Name: "b", Prefix: "a}b"}, `BucketConfig.Prefix is "a}b"`},
		"long prefix": {client, BucketConfig{Name: "b", Prefix: strings.Repeat("p", 256)}, "BucketConfig.Prefix is"},
		"no client":   {nil, BucketConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil client":  {(*redis.Client)(nil), BucketConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil cluster": {(*redis.ClusterClient)(nil), BucketConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil ring":    {(*redis.Ring)(nil), BucketConfig{Name: "b"}, "redisstore: the client is nil"},
		"ring":        {ring, BucketConfig{Name: "b"}, "its buckets would all be full"},
	} {
		b, err := NewBucket(c.client, c.config)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || (b == nil) != (err != nil) {
			t.Errorf("%s: got error %v want %q", name, err, c.want)
		}
	}
}

// bucketSteps are what is asked of a store.
func bucketSteps(b *Bucket) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"take": func(ctx context.Context) error {
			_, err := b.Take(ctx, bucket.Request{Key: "k", Limit: bucket.PerSecond(5), Min: 1, Max: 1})
			return err
		},
		"return": func(ctx context.Context) error { return b.Return(ctx, "k", bucket.PerSecond(5), 1) },
		"reset":  func(ctx context.Context) error { return b.Reset(ctx, "k") },
	}
}

// TestBucketErrorsAreTheServers wants every error to say at which step and key it was, and to be what the server or the network said.
func TestBucketErrorsAreTheServers(t *testing.T) {
	for _, want := range []error{errors.New("LOADING"), io.EOF, redis.ErrClosed} {
		b := newBucket(t, &server{answer: func(redis.Cmder) error { return want }})
		for name, step := range bucketSteps(b) {
			prefix := "redisstore: " + name + ": spillway:bucket:b:k: "
			if err := step(t.Context()); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("%s: got error %v want %s%v", name, err, prefix, want)
			}
		}
	}
}

// TestABucketsContextIsOver wants the context's error, also where a socket has words of its own for it, or notices first.
func TestABucketsContextIsOver(t *testing.T) {
	for name := range bucketSteps(nil) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &server{answer: func(redis.Cmder) error { cancel(); return os.ErrDeadlineExceeded }}
		step := bucketSteps(newBucket(t, s))[name]
		if err := step(lateContext{t.Context()}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: late: got error %v want %v and %v", name, err, context.DeadlineExceeded, os.ErrDeadlineExceeded)
		}
		asked := len(s.asked)
		if err := step(ctx); !errors.Is(err, context.Canceled) || len(s.asked) != asked {
			t.Errorf("%s: over before: got error %v want %v, and nothing asked", name, err, context.Canceled)
		}
	}
}

// TestBucketAnswersThatMakeNoSense are errors and nothing worse: also one in which the level that follows is not the one that must.
func TestBucketAnswersThatMakeNoSense(t *testing.T) {
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
	request := bucket.Request{Key: "k", Limit: bucket.PerSecond(5), Min: 2, Max: 3}
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
		"take":         {takeArguments(bucket.Request{Limit: bucket.PerSecond(5), Min: 1, Max: 2}), []any{"continuous", int64(2e8), int64(1e9), int64(2e8), int64(4e8)}},
		"take all":     {takeArguments(bucket.Request{Limit: bucket.PerSecond(5), Max: most}), []any{"continuous", int64(2e8), int64(1e9), int64(0), int64(1e9)}},
		"finest":       {takeArguments(bucket.Request{Limit: finest, Max: most}), []any{"continuous", int64(1), finest.Capacity, int64(0), finest.Capacity}},
		"fixed":        {takeArguments(bucket.Request{Limit: widest, Min: most, Max: most}), []any{"fixed", int64(widest.Period), int64(most), int64(most), int64(most)}},
		"return":       {returnArguments(bucket.PerSecond(5), 3), []any{"continuous", int64(2e8), int64(6e8)}},
		"return much":  {returnArguments(bucket.PerSecond(5), most), []any{"continuous", int64(2e8), int64(1e9)}},
		"return less":  {returnArguments(bucket.PerSecond(5), -most), []any{"continuous", int64(2e8), int64(0)}},
		"return fixed": {returnArguments(widest, most), []any{"fixed", int64(widest.Period), int64(most)}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v want %v", name, c.got, c.want)
		}
	}
}

// TestBucketImpossibleRequests are errors before anything is asked.
func TestBucketImpossibleRequests(t *testing.T) {
	s := says(nil)
	b := newBucket(t, s)
	take := func(l bucket.Limit, least, most int64) error {
		_, err := b.Take(t.Context(), bucket.Request{Limit: l, Min: least, Max: most})
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

// TestBucketCloseLeavesTheClient closes twice, and asks again.
func TestBucketCloseLeavesTheClient(t *testing.T) {
	b := newBucket(t, says([]any{"1", "", "200000001 0"}))
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Errorf("Close: got error %v want none", err)
	}
	if err := bucketSteps(b)["take"](t.Context()); err != nil {
		t.Errorf("Take: got error %v want none", err)
	}
}
