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

	"github.com/spillway-go/spillway/throttle/breaker"
)

var (
	_ breaker.Store   = (*Breaker)(nil)
	_ breaker.Watcher = (*Breaker)(nil)
)

func TestNewBreakerRefuses(t *testing.T) {
	client, ring := redis.NewUniversalClient(Options(nowhere)), redis.NewRing(&redis.RingOptions{})
	defer client.Close()
	defer ring.Close()
	cluster := redis.NewUniversalClient(Options(nowhere, nowhere))
	defer cluster.Close()
	options := Options(nowhere, nowhere)
	options.RouteByLatency = true
	replicas := redis.NewUniversalClient(options)
	defer replicas.Close()
	for name, c := range map[string]struct {
		client redis.UniversalClient
		config BreakerConfig
		want   string // in the error; "" is none
	}{
		"good":         {client, BreakerConfig{Name: "b"}, ""},
		"any bytes":    {client, BreakerConfig{Name: "{\x00\xff}"}, ""},
		"long":         {client, BreakerConfig{Name: strings.Repeat("n", 255), Prefix: strings.Repeat("p", 255)}, ""},
		"no name":      {client, BreakerConfig{}, `BreakerConfig.Name is "": want 1 to 255 bytes`},
		"too long":     {client, BreakerConfig{Name: strings.Repeat("n", 256)}, "BreakerConfig.Name is \"nnn"},
		"brace":        {client, BreakerConfig{Name: "b", Prefix: "a{b"}, `BreakerConfig.Prefix is "a{b": want 1 to 255 bytes without braces`},
		"other brace":  {client, BreakerConfig{Name: "b", Prefix: "a}b"}, `BreakerConfig.Prefix is "a}b"`},
		"long prefix":  {client, BreakerConfig{Name: "b", Prefix: strings.Repeat("p", 256)}, "BreakerConfig.Prefix is"},
		"no client":    {nil, BreakerConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil client":   {(*redis.Client)(nil), BreakerConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil cluster":  {(*redis.ClusterClient)(nil), BreakerConfig{Name: "b"}, "redisstore: the client is nil"},
		"nil ring":     {(*redis.Ring)(nil), BreakerConfig{Name: "b"}, "redisstore: the client is nil"},
		"ring":         {ring, BreakerConfig{Name: "b"}, "redisstore: the client is a Ring"},
		"cluster":      {cluster, BreakerConfig{Name: "b"}, ""},
		"replicas":     {replicas, BreakerConfig{Name: "b"}, "redisstore: the client reads from replicas"},
		"both at once": {nil, BreakerConfig{}, "BreakerConfig.Name"},
	} {
		b, err := NewBreaker(c.client, c.config)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || (b == nil) != (err != nil) {
			t.Errorf("%s: got error %v want %q", name, err, c.want)
		}
	}
}

// steps are what is asked of a store.
func steps(b *Breaker) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"campaign": func(ctx context.Context) error { _, err := b.Campaign(ctx, breaker.Candidate{}); return err },
		"resign":   func(ctx context.Context) error { return b.Resign(ctx, breaker.Lease{}) },
		"versions": func(ctx context.Context) error { _, err := b.Versions(ctx); return err },
		"load":     func(ctx context.Context) error { _, err := b.Load(ctx, []int{5, 6}); return err },
		"apply":    func(ctx context.Context) error { _, err := b.Apply(ctx, breaker.Batch{Shard: 5}); return err },
		"probe": func(ctx context.Context) error {
			_, err := b.Probe(ctx, []breaker.ProbeRequest{{Every: time.Second}})
			return err
		},
	}
}

// TestErrorsAreTheServers wants every error to say at which step it was, and to be what the server or the network said.
func TestErrorsAreTheServers(t *testing.T) {
	for _, want := range []error{errors.New("LOADING"), io.EOF, redis.ErrClosed} {
		b := newBreaker(t, &server{answer: func(redis.Cmder) error { return want }})
		for name, step := range steps(b) {
			if err := step(t.Context()); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "redisstore: "+name+": ") {
				t.Errorf("%s: got error %v want redisstore: %s: and %v", name, err, name, want)
			}
		}
	}
}

// TestOneErrorOfManyIsFound fails one command of a pipe, behind others that succeed or find nothing.
func TestOneErrorOfManyIsFound(t *testing.T) {
	want := redis.Error(redis.ErrCrossSlot)
	for _, name := range []string{"versions", "load"} {
		b := newBreaker(t, &server{answer: func(cmd redis.Cmder) error {
			switch {
			case strings.Contains(cmd.String(), "/6}"):
				return want
			case cmd.Name() == "hget":
				return redis.Nil
			}
			return nil
		}})
		if err := steps(b)[name](t.Context()); !errors.Is(err, want) || !strings.Contains(err.Error(), "spillway:breaker:{b/6}:shard") {
			t.Errorf("%s: got error %v want %v, and the key", name, err, want)
		}
	}
}

// TestAContextIsOver wants the context's error, also where a socket has words of its own for it.
func TestAContextIsOver(t *testing.T) {
	socket := errors.New("i/o timeout")
	for name := range steps(nil) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		step := steps(newBreaker(t, &server{answer: func(redis.Cmder) error { cancel(); return socket }}))[name]
		if err := step(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, socket) {
			t.Errorf("%s: got error %v want %v and %v", name, err, context.Canceled, socket)
		}
		if err := step(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, socket) {
			t.Errorf("%s: over before: got error %v want %v alone", name, err, context.Canceled)
		}
	}
}

// lateContext is over by the clock, and has not noticed yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now(), true }

func TestADeadlineIsNoticedByTheSocketFirst(t *testing.T) {
	b := newBreaker(t, &server{answer: func(redis.Cmder) error { return os.ErrDeadlineExceeded }})
	for name, step := range steps(b) {
		if err := step(lateContext{t.Context()}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got error %v want %v and %v", name, err, context.DeadlineExceeded, os.ErrDeadlineExceeded)
		}
	}
}

// TestAnswersThatMakeNoSense come from something between us and Redis, if ever. They are errors and nothing worse.
func TestAnswersThatMakeNoSense(t *testing.T) {
	for _, answer := range []any{
		nil, "x", int64(1),
		[]any{},
		[]any{nil},
		[]any{"x"},
		[]any{"1", "2", "3"},
		[]any{int64(1), int64(2), int64(3)},
		[]any{"a", "x", int64(1)},
		[]any{int64(1), "1"},
		[]any{"1", "x"},
		[]any{"1", int64(1)},
		[]any{"-1", "1", "1", "1"},
		[]any{nil, "1", int64(1)},
	} {
		b := newBreaker(t, says(answer))
		for name, step := range steps(b) {
			if err := step(t.Context()); err == nil && name != "load" && name != "resign" {
				t.Errorf("%s: %v: got no error want one", name, answer)
			}
		}
	}
}

func TestAnswersThatMakeSense(t *testing.T) {
	lease, err := newBreaker(t, says([]any{"me", "18446744073709551615", int64(7)})).Campaign(t.Context(), breaker.Candidate{})
	if want := (breaker.Lease{Owner: "me", Term: 18446744073709551615, Remaining: 7 * time.Microsecond}); err != nil || lease != want {
		t.Errorf("Campaign: got %v, error %v want %v", lease, err, want)
	}
	version, err := newBreaker(t, says([]any{"8", "9"})).Apply(t.Context(), breaker.Batch{})
	if want := (breaker.Version{Epoch: 8, Number: 9}); err != nil || version != want {
		t.Errorf("Apply: got %v, error %v want %v", version, err, want)
	}
	for word, want := range map[string]error{"fenced": breaker.ErrFenced, "conflict": breaker.ErrConflict} {
		if _, err := newBreaker(t, says([]any{word})).Apply(t.Context(), breaker.Batch{}); !errors.Is(err, want) {
			t.Errorf("Apply: got error %v want %v", err, want)
		}
	}
	v, err := newBreaker(t, says([]any{"12", "345678"})).Versions(t.Context())
	if want := time.Unix(12, 345678000); err != nil || !v.Now.Equal(want) {
		t.Errorf("Versions: got %v, error %v want %v", v.Now, err, want)
	}
	grants, err := newBreaker(t, says([]any{int64(3), int64(4)})).Probe(t.Context(), []breaker.ProbeRequest{{Every: 1}})
	if want := (breaker.ProbeGrant{Granted: 3, Remaining: 4 * time.Microsecond}); err != nil || len(grants) != 1 || grants[0] != want {
		t.Errorf("Probe: got %v, error %v want %v", grants, err, want)
	}
}

// TestAnUnknownScriptIsSentWithItsText forgets the scripts before every call.
func TestAnUnknownScriptIsSentWithItsText(t *testing.T) {
	s := &server{answer: func(cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			return redis.ErrNoScript
		}
		if c, ok := cmd.(*redis.Cmd); ok {
			c.SetVal([]any{"12", "345678"})
		}
		return nil
	}}
	v, err := newBreaker(t, s).Versions(t.Context())
	if err != nil || v.Now.Unix() != 12 {
		t.Errorf("Versions: got %v, error %v want 12 s", v.Now, err)
	}
	if last := s.asked[len(s.asked)-1]; last[0] != "eval" || last[1] != clockLua {
		t.Errorf("got %.60v want the script's text", last)
	}
}

// TestImpossibleRequests are errors before anything is asked.
func TestImpossibleRequests(t *testing.T) {
	s := says(nil)
	b := newBreaker(t, s)
	for want, ask := range map[string]func() error{
		"redisstore: load: shard is -1: want 0 to 63":  func() error { _, err := b.Load(t.Context(), []int{0, -1}); return err },
		"redisstore: load: shard is 64: want 0 to 63":  func() error { _, err := b.Load(t.Context(), []int{64}); return err },
		"redisstore: apply: shard is 64: want 0 to 63": func() error { _, err := b.Apply(t.Context(), breaker.Batch{Shard: 64}); return err },
		"redisstore: apply: shard is -1: want 0 to 63": func() error { _, err := b.Apply(t.Context(), breaker.Batch{Shard: -1}); return err },
		"redisstore: probe: request 1: Every is 0s: want more than 0": func() error {
			_, err := b.Probe(t.Context(), []breaker.ProbeRequest{{Every: 1}, {}})
			return err
		},
	} {
		if err := ask(); err == nil || err.Error() != want {
			t.Errorf("got error %v want %s", err, want)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("got %v want nothing asked", s.asked)
	}
}

// TestCloseLeavesTheClient closes twice, and asks again.
func TestCloseLeavesTheClient(t *testing.T) {
	b := newBreaker(t, says([]any{"me", "1", int64(7)}))
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Errorf("Close: got error %v want none", err)
	}
	if _, err := b.Campaign(t.Context(), breaker.Candidate{}); err != nil {
		t.Errorf("Campaign: got error %v want none", err)
	}
}
