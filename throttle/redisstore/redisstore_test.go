package redisstore

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestConstructorErrors tries clients and configs with both stores.
func TestConstructorErrors(t *testing.T) {
	client, ring := redis.NewUniversalClient(Options(deadAddress)), redis.NewRing(&redis.RingOptions{})
	defer client.Close()
	defer ring.Close()
	cluster := redis.NewUniversalClient(Options(deadAddress, deadAddress))
	defer cluster.Close()
	options := Options(deadAddress, deadAddress)
	options.RouteByLatency = true
	replicas := redis.NewUniversalClient(options)
	defer replicas.Close()
	long := strings.Repeat("n", 256)
	for test, c := range map[string]struct {
		client           redis.UniversalClient
		name, prefix     string
		breakers, bucket string // in the error; "" is none
	}{
		"good":         {client, "b", "", "", ""},
		"any bytes":    {client, "{\x00\xff}", "", "", ""},
		"long":         {client, long[1:], long[1:], "", ""},
		"cluster":      {cluster, "b", "", "", ""},
		"no name":      {client, "", "", `BreakerConfig.Name is missing: want 1 to 255 bytes`, `BucketConfig.Name is missing: want 1 to 255 bytes`},
		"too long":     {client, long, "", "(256 bytes): want 1 to 255 bytes", "(256 bytes): want 1 to 255 bytes"},
		"brace":        {client, "b", "a{b", `BreakerConfig.Prefix is "a{b": want 1 to 255 bytes without braces`, `BucketConfig.Prefix is "a{b": want 1 to 255 bytes without braces`},
		"other brace":  {client, "b", "a}b", `BreakerConfig.Prefix is "a}b"`, `BucketConfig.Prefix is "a}b"`},
		"long prefix":  {client, "b", long, "BreakerConfig.Prefix is", "BucketConfig.Prefix is"},
		"no client":    {nil, "b", "", "redisstore: the client is nil", "redisstore: the client is nil"},
		"nil client":   {(*redis.Client)(nil), "b", "", "redisstore: the client is nil", "redisstore: the client is nil"},
		"nil cluster":  {(*redis.ClusterClient)(nil), "b", "", "redisstore: the client is nil", "redisstore: the client is nil"},
		"nil ring":     {(*redis.Ring)(nil), "b", "", "redisstore: the client is nil", "redisstore: the client is nil"},
		"ring":         {ring, "b", "", "redisstore: redis.Ring is not supported", "its buckets would all be full"},
		"both at once": {nil, "", "", "BreakerConfig.Name", "BucketConfig.Name"},
	} {
		b, err := NewBreaker(c.client, BreakerConfig{Name: c.name, Prefix: c.prefix})
		wantRefusal(t, test+": NewBreaker", b != nil, err, c.breakers)
		l, err := NewBucket(c.client, BucketConfig{Name: c.name, Prefix: c.prefix})
		wantRefusal(t, test+": NewBucket", l != nil, err, c.bucket)
	}
	b, err := NewBreaker(replicas, BreakerConfig{Name: "b"})
	wantRefusal(t, "replicas", b != nil, err, "redisstore: the client reads from replicas")
}

// wantRefusal fails the test unless a constructor returned either a store or the error.
func wantRefusal(t *testing.T, what string, made bool, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || made != (err == nil) {
		t.Errorf("%s: got a store: %v, error %v want error %q", what, made, err, want)
	}
}

// stepsOf returns the steps of both stores on a server, by the beginning of their errors.
func stepsOf(t *testing.T, s *server) map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{}
	for name, step := range steps(newBreaker(t, s)) {
		all["redisstore: "+name+": "] = step
	}
	for name, step := range bucketSteps(newBucket(t, s)) {
		all["redisstore: "+name+": spillway:bucket:b:k: "] = step
	}
	return all
}

// TestErrorsAreTheServers wants every error to name the step, and to wrap the error of the server
// or the network.
func TestErrorsAreTheServers(t *testing.T) {
	for _, want := range []error{errors.New("LOADING"), io.EOF, redis.ErrClosed} {
		for prefix, step := range stepsOf(t, &server{answer: func(redis.Cmder) error { return want }}) {
			if err := step(t.Context()); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("got error %v want %s and %v", err, prefix, want)
			}
		}
	}
}

// lateContext has passed its deadline, and has not noticed yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now(), true }

// TestContextEnds wants the context's error, also where a socket has an error of its own for it,
// or notices first.
func TestContextEnds(t *testing.T) {
	socket := errors.New("i/o timeout")
	for prefix := range stepsOf(t, says(nil)) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &server{answer: func(redis.Cmder) error { cancel(); return socket }}
		step := stepsOf(t, s)[prefix]
		if err := step(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, socket) {
			t.Errorf("%s: got error %v want %v and %v", prefix, err, context.Canceled, socket)
		}
		asked := len(s.asked)
		if err := step(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, socket) || len(s.asked) != asked {
			t.Errorf("%s: over before: got error %v want %v alone, and nothing asked", prefix, err, context.Canceled)
		}
	}
	for prefix, step := range stepsOf(t, &server{answer: func(redis.Cmder) error { return os.ErrDeadlineExceeded }}) {
		if err := step(lateContext{t.Context()}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got error %v want %v and %v", prefix, err, context.DeadlineExceeded, os.ErrDeadlineExceeded)
		}
	}
}
