package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

var (
	_ breakerstore.Store   = (*Breaker)(nil)
	_ breakerstore.Watcher = (*Breaker)(nil)
)

// steps are what is asked of a store.
func steps(b *Breaker) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"campaign": func(ctx context.Context) error { _, err := b.Campaign(ctx, breakerstore.Candidate{}); return err },
		"resign":   func(ctx context.Context) error { return b.Resign(ctx, breakerstore.Lease{}) },
		"versions": func(ctx context.Context) error { _, err := b.Versions(ctx); return err },
		"load":     func(ctx context.Context) error { _, err := b.Load(ctx, []int{5, 6}); return err },
		"apply":    func(ctx context.Context) error { _, err := b.Apply(ctx, breakerstore.Batch{Shard: 5}); return err },
		"probe": func(ctx context.Context) error {
			_, err := b.Probe(ctx, []breakerstore.ProbeRequest{{Every: time.Second}})
			return err
		},
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

// TestBreakerUnexpectedReplies come from something between us and Redis, if ever. They are errors and nothing worse.
func TestBreakerUnexpectedReplies(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
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
		[]any{"-1", "", ""},
		[]any{huge, huge, huge},
		[]any{evil, evil, evil},
		[]any{[]any{}, map[any]any{}, 1.5},
	} {
		b := newBreaker(t, says(answer))
		for name, step := range steps(b) {
			if err := step(t.Context()); err == nil && name != "load" && name != "resign" {
				t.Errorf("%s: %.100q: got no error want one", name, answer)
			} else if len(fmt.Sprint(err)) > 2000 {
				t.Errorf("%s: %.100q: got an error of %d bytes", name, answer, len(err.Error()))
			}
		}
	}
}

func TestBreakerReplies(t *testing.T) {
	lease, err := newBreaker(t, says([]any{"me", "18446744073709551615", int64(7)})).Campaign(t.Context(), breakerstore.Candidate{})
	if want := (breakerstore.Lease{Owner: "me", Term: 18446744073709551615, Remaining: 7 * time.Microsecond}); err != nil || lease != want {
		t.Errorf("Campaign: got %v, error %v want %v", lease, err, want)
	}
	version, err := newBreaker(t, says([]any{"8", "9"})).Apply(t.Context(), breakerstore.Batch{})
	if want := (breakerstore.Version{Epoch: 8, Number: 9}); err != nil || version != want {
		t.Errorf("Apply: got %v, error %v want %v", version, err, want)
	}
	for word, want := range map[string]error{"fenced": breakerstore.ErrFenced, "conflict": breakerstore.ErrConflict} {
		if _, err := newBreaker(t, says([]any{word})).Apply(t.Context(), breakerstore.Batch{}); !errors.Is(err, want) {
			t.Errorf("Apply: got error %v want %v", err, want)
		}
	}
	v, err := newBreaker(t, says([]any{"12", "345678"})).Versions(t.Context())
	if want := time.Unix(12, 345678000); err != nil || !v.Now.Equal(want) {
		t.Errorf("Versions: got %v, error %v want %v", v.Now, err, want)
	}
	grants, err := newBreaker(t, says([]any{int64(3), int64(4)})).Probe(t.Context(), []breakerstore.ProbeRequest{{Every: 1}})
	if want := (breakerstore.ProbeGrant{Granted: 3, Remaining: 4 * time.Microsecond}); err != nil || len(grants) != 1 || grants[0] != want {
		t.Errorf("Probe: got %v, error %v want %v", grants, err, want)
	}
}

// TestBreakerInvalidRequests wants errors, and no command to the server.
func TestBreakerInvalidRequests(t *testing.T) {
	s := says(nil)
	b := newBreaker(t, s)
	for want, ask := range map[string]func() error{
		"redisstore: load: shard is -1: want 0 to 63":  func() error { _, err := b.Load(t.Context(), []int{0, -1}); return err },
		"redisstore: load: shard is 64: want 0 to 63":  func() error { _, err := b.Load(t.Context(), []int{64}); return err },
		"redisstore: apply: shard is 64: want 0 to 63": func() error { _, err := b.Apply(t.Context(), breakerstore.Batch{Shard: 64}); return err },
		"redisstore: apply: shard is -1: want 0 to 63": func() error { _, err := b.Apply(t.Context(), breakerstore.Batch{Shard: -1}); return err },
		"redisstore: probe: request 1: Every is 0s: want more than 0": func() error {
			_, err := b.Probe(t.Context(), []breakerstore.ProbeRequest{{Every: 1}, {}})
			return err
		},
	} {
		if err := ask(); err == nil || err.Error() != want {
			t.Errorf("got error %v want %s", err, want)
		}
	}
	equals(t, len(s.asked), 0, "commands")
}

func TestKeysAsDocumented(t *testing.T) {
	k := newBreakerKeys("spillway", "webhooks")
	for got, want := range map[string]string{
		k.shards[63]:                        "spillway:breaker:{webhooks/63}:shard",
		k.lease:                             "spillway:breaker:{webhooks/lead}:lease",
		k.change:                            "spillway:breaker:{webhooks}:change",
		k.probe(breakerstore.RecordID{}, 7): "spillway:breaker:{webhooks/lead}:probes:" + strings.Repeat("00", 32) + ":7",
	} {
		equals(t, got, want, "the key")
	}
}

// TestSinceMicros wants a time before 1970 to be moved by whole periods.
func TestSinceMicros(t *testing.T) {
	for name, c := range map[string]struct {
		since time.Time
		every int64
		want  int64
	}{
		"now":         {time.UnixMicro(1795261589000001), 1000, 1795261589000001},
		"1970":        {time.UnixMicro(0), 1000, 0},
		"just before": {time.UnixMicro(-1), 1000, 999},
		"one period":  {time.UnixMicro(-1000), 1000, 0},
		"zero time":   {time.Time{}, 7, (time.Time{}.UnixMicro()%7 + 7) % 7},
		"far away":    {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1000, maxMicros},
	} {
		equals(t, sinceMicros(c.since, c.every), c.want, "%s", name)
	}
}

// TestWatchWithoutAServer wants an error at once, and the context's own if that is over.
func TestWatchWithoutAServer(t *testing.T) {
	b := newBreaker(t, says(nil))
	never := func() { t.Error("changed was called") }
	if err := b.Watch(t.Context(), never); err == nil || !strings.HasPrefix(err.Error(), "redisstore: watch: spillway:breaker:{b}:change: ") {
		t.Errorf("got error %v want redisstore: watch: and the channel", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Watch(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v want %v", err, context.Canceled)
	}
}

// FuzzParseVersion wants what is read to be what was written.
func FuzzParseVersion(f *testing.F) {
	for _, text := range []string{"1795261589000000 12 5", "0 0 0", "01 2 3", "1 2", "1 2 3 4", "9007199254740991 1 1", "9007199254740992 1 1", "1 1000000000000000 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := parseVersion(text)
		if !ok {
			equals(t, v, breakerstore.Version{}, "%q, which cannot be read", text)
			return
		}
		var term uint64
		if n, err := fmt.Sscan(text, &v.Epoch, &v.Number, &term); n != 3 || err != nil || fmt.Sprint(v.Epoch, " ", v.Number, " ", term) != text {
			t.Errorf("%q: got %v want what is written", text, v)
		}
	})
}
