package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

// heard records the events of hooks.
type heard struct {
	created, closed int
	asked           []bucket.StoreEvent
	denied          []bucket.DenialEvent
	waited          []bucket.WaitEvent
	warned          []error
	of              []any // what the contexts of denied and waited carry
}

type mark struct{}

func (h *heard) hooks() bucket.Hooks {
	return bucket.Hooks{
		Created:     func(*bucket.Limiter) { h.created++ },
		Closed:      func(*bucket.Limiter) { h.closed++ },
		StoreCalled: func(_ context.Context, e bucket.StoreEvent) { h.asked = append(h.asked, e) },
		Denied: func(ctx context.Context, e bucket.DenialEvent) {
			h.denied, h.of = append(h.denied, e), append(h.of, ctx.Value(mark{}))
		},
		StoreWarned: func(_ *bucket.Limiter, err error) { h.warned = append(h.warned, err) },
		Waited: func(ctx context.Context, e bucket.WaitEvent) {
			h.waited, h.of = append(h.waited, e), append(h.of, ctx.Value(mark{}))
		},
	}
}

// TestHooks checks that hooks are called for each denial and each wait, with the context of the
// caller.
func TestHooks(t *testing.T) {
	for name, store := range map[string]store.Store{"memory": nil, "remote": newRemote()} {
		bubble(t, name, func(t *testing.T) {
			if store != nil {
				store = newRemote()
			}
			var h heard
			ctx := context.WithValue(t.Context(), mark{}, 7)
			l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Second}, Hooks: h.hooks()})
			for _, n := range []int64{1, 1, 1, 2, 0, -1, 3} { // two are granted, two denied, three nothing that is counted
				_, _ = l.DecideN(ctx, "k", n)
			}
			hurried, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			wants(t, l.Wait(hurried, "k", 2), bucket.ErrDenied, "a wait with too short a deadline")
			wants(t, l.Wait(ctx, "k", 1), nil, "a wait without a deadline")
			_ = l.Close()
			_ = l.Close()
			wantDenied := []bucket.DenialEvent{
				{Limiter: l, Key: "k", Tokens: 1, RetryAfter: time.Second},
				{Limiter: l, Key: "k", Tokens: 2, RetryAfter: 2 * time.Second},
				{Limiter: l, Key: "k", Tokens: 2, RetryAfter: 2 * time.Second},
			}
			if !reflect.DeepEqual(h.denied, wantDenied) {
				t.Errorf("denied %+v", h.denied)
			}
			if len(h.waited) != 2 || !errors.Is(h.waited[0].Err, bucket.ErrDenied) || h.waited[1].Err != nil ||
				h.waited[1].Duration != time.Second || h.waited[1].Tokens != 1 || h.waited[1].Key != "k" {
				t.Errorf("waited %+v", h.waited)
			}
			if !reflect.DeepEqual(h.of, []any{7, 7, 7, 7, 7}) || h.created != 1 || h.closed != 1 {
				t.Errorf("contexts %v, created %d, closed %d", h.of, h.created, h.closed)
			}
			if s := l.Stats(); s.Denied != 3 || s.Granted != 3 || s.Tokens != 3 {
				t.Errorf("stats %+v", s)
			}
			if asked := len(h.asked); (asked == 0) != (store == nil) {
				t.Errorf("the store was asked %d times", asked)
			}
		})
	}
}

// TestHooks_ContextOfStoreCalled checks that StoreCalled gets the values of the caller of a single request,
// but not its deadline.
func TestHooks_ContextOfStoreCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := gated()
		var of []any
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(9), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
			StoreCalled: func(ctx context.Context, _ bucket.StoreEvent) { of = append(of, ctx.Value(mark{})) },
		}})
		ctx, leave := context.WithCancel(context.WithValue(t.Context(), mark{}, 7))
		for _, who := range []context.Context{ctx, ctx, t.Context()} {
			go func() { _, _ = l.Decide(who, "k") }()
			synctest.Wait()
		}
		if s := l.Stats(); s.AwaitingStore != 3 || s.Waiting != 0 {
			t.Errorf("stats %+v, want three asking", s)
		}
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if !reflect.DeepEqual(of, []any{7, nil}) || l.Stats().AwaitingStore != 0 {
			t.Errorf("asked with %v, want the first's and no other's; %+v", of, l.Stats())
		}
	})
}

// caught returns what something panicked with.
func caught(something func()) (value any) {
	defer func() { value = recover() }()
	something()
	return nil
}

// TestHooks_PanicOfStoreCalled checks that the panic is counted, and that all callers get their tokens.
func TestHooks_PanicOfStoreCalled(t *testing.T) {
	for name, ask := range map[string]func(*bucket.Limiter) error{
		"together": func(l *bucket.Limiter) error { return l.Take(context.Background(), "k", 1) },
		"in line":  func(l *bucket.Limiter) error { return l.Wait(context.Background(), "k", 1) },
	} {
		bubble(t, name, func(t *testing.T) {
			store, gate := gated()
			var panics atomic.Int64
			l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
				StoreCalled: func(context.Context, bucket.StoreEvent) {
					panics.Add(1)
					panic("asked")
				},
			}})
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					wants(t, ask(l), nil, "a caller")
				})
				synctest.Wait()
			}
			close(gate)
			all.Wait()
			synctest.Wait()
			if s := l.Stats(); panics.Load() == 0 || s.HookPanics != uint64(panics.Load()) || s.Granted != 50 || s.Waiting+s.AwaitingStore != 0 {
				t.Errorf("%d panics: got %+v want 50 granted", panics.Load(), s)
			}
		})
	}
}

// TestHooks_PanicPropagatesToTheCaller checks that the state is consistent afterwards: no caller waits.
func TestHooks_PanicPropagatesToTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := limiter(t, bucket.Config{Limit: bucket.Per(5, time.Hour), Hooks: bucket.Hooks{
			Denied: func(context.Context, bucket.DenialEvent) { panic("denied") },
			Waited: func(context.Context, bucket.WaitEvent) { panic("waited") },
		}})
		must(t, memory.Take(t.Context(), "k", 5))
		hurried, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, tt := range []struct {
			name, want string
			do         func()
		}{
			{"denied", "denied", func() { _ = memory.Take(t.Context(), "k", 1) }},
			{"denied in line", "denied", func() { _ = memory.Wait(hurried, "k", 1) }},
			{"waited", "waited", func() { _ = memory.Wait(t.Context(), "k", 1) }},
		} {
			equals(t, caught(tt.do), any(tt.want), "%s", tt.name)
		}
		if s := memory.Stats(); s.Waiting != 0 || s.HookPanics != 0 {
			t.Errorf("got %+v want no waiter, and no panic counted", s)
		}
	})
}

// TestHooks_CallTheLimiter checks that hooks may call the limiter, and that Denied and Waited may
// request tokens.
func TestHooks_CallTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		called := func(l *bucket.Limiter) {
			told.Add(1)
			_ = l.Stats()
			_ = l.SetLimit(bucket.PerSecond(2))
			wants(t, errors.Join(l.Return(context.Background(), "k", 1), l.Reset(context.Background(), "other")), nil, "called back")
		}
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(1), Hooks: bucket.Hooks{
			StoreCalled: func(_ context.Context, e bucket.StoreEvent) { called(e.Limiter) },
			Denied: func(_ context.Context, e bucket.DenialEvent) {
				called(e.Limiter)
				_, _ = e.Limiter.Decide(context.Background(), "another")
			},
			Waited: func(_ context.Context, e bucket.WaitEvent) { called(e.Limiter); _ = e.Limiter.Close() },
			Closed: func(l *bucket.Limiter) { _ = l.Close(); _ = l.Stats() },
		}})
		for range 8 {
			_, _ = l.DecideN(t.Context(), "k", 1)
		}
		wants(t, l.Wait(t.Context(), "k", 1), nil, "Wait")
		if told.Load() < 10 {
			t.Errorf("told %d times", told.Load())
		}
	})
}

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[bucket.Hooks]{
		Join: bucket.JoinHooks, Set: bucket.SetDefaultHooks, Get: bucket.DefaultHooks,
		Create: func(h bucket.Hooks) { _ = limiter(t, bucket.Config{Limit: bucket.PerSecond(1), Hooks: h}).Close() },
	}.Check(t)
}

// TestLogHooks_ForgetClosedLimiters, even if they are used after Close.
func TestLogHooks_ForgetClosedLimiters(t *testing.T) {
	hooktest.Collected(t, bucket.LogHooks(slog.New(slog.DiscardHandler)), func(h bucket.Hooks) *bucket.Limiter {
		l := bucket.Must(bucket.New(bucket.Config{Name: "x", Limit: bucket.PerSecond(1), Store: newFailing(), Hooks: h}))
		_ = l.Close()
		_, _ = l.Decide(t.Context(), "k")
		return l
	})
}

// TestText compares the texts of events, limits and log records.
func TestText(t *testing.T) {
	l := limiter(t, bucket.Config{Name: "mail", Limit: bucket.PerSecond(1)})
	down := errors.New("down")
	long := strings.Repeat("k", 100)
	for want, value := range map[string]fmt.Stringer{
		`bucket mail: store answered after 2ms, for 3 requests`:                       bucket.StoreEvent{Limiter: l, Duration: 2 * time.Millisecond, Requests: 3},
		`bucket mail: store failed after 50ms, for 1 requests: down`:                  bucket.StoreEvent{Limiter: l, Duration: 50 * time.Millisecond, Requests: 1, Err: down},
		`bucket mail: denied 1 tokens of "ann", retry after 1s (source store)`:        bucket.DenialEvent{Limiter: l, Key: "ann", Tokens: 1, RetryAfter: time.Second},
		`bucket mail: denied 2 tokens of "ann": down`:                                 bucket.DenialEvent{Limiter: l, Key: "ann", Tokens: 2, Err: down},
		`bucket mail: waited 3s for 2 tokens of "ann"`:                                bucket.WaitEvent{Limiter: l, Key: "ann", Tokens: 2, Duration: 3 * time.Second},
		`bucket : waited 0s for 0 tokens of "` + long[:64] + `"... (100 bytes): down`: bucket.WaitEvent{Key: long, Err: down},
		`50 per 1s`:            bucket.PerSecond(50),
		`50 per 1s, burst 100`: bucket.PerSecond(50).WithBurst(100),
		`1 per 1h0m0s`:         bucket.Every(time.Hour),
		`9 per 1m0s, fixed`:    bucket.Limit{Capacity: 9, Period: time.Minute, Algorithm: bucket.Fixed},
		`no limit set`:         bucket.Limit{},
	} {
		equals(t, value.String(), want, "String")
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("denied", "error", &bucket.DeniedError{Limiter: "mail", Key: long + long + long, RetryAfter: time.Second})
	log.Info("decided", "decision", bucket.Decision{Allowed: true, Granted: 1, Limit: 5, Remaining: 4})
	want := `level=INFO msg=denied error.limiter=mail error.key="` + (long + long + long)[:256] + `... (300 bytes)" error.retry_after=1s
level=INFO msg=decided decision.allowed=true decision.granted=1 decision.remaining=4 decision.limit=5` +
		" decision.retry_after=0s decision.reset_after=0s decision.source=store\n"
	equals(t, out.String(), want, "the log")
}
