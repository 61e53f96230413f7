package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// heard writes down what hooks are told.
type heard struct {
	created, closed int
	asked           []bucket.StoreEvent
	denied          []bucket.DenialEvent
	waited          []bucket.WaitEvent
	of              []any // what the contexts of denied and waited carry
}

type mark struct{}

func (h *heard) hooks() bucket.Hooks {
	return bucket.Hooks{
		Created: func(*bucket.Limiter) { h.created++ },
		Closed:  func(*bucket.Limiter) { h.closed++ },
		Asked:   func(_ context.Context, e bucket.StoreEvent) { h.asked = append(h.asked, e) },
		Denied: func(ctx context.Context, e bucket.DenialEvent) {
			h.denied, h.of = append(h.denied, e), append(h.of, ctx.Value(mark{}))
		},
		Waited: func(ctx context.Context, e bucket.WaitEvent) {
			h.waited, h.of = append(h.waited, e), append(h.of, ctx.Value(mark{}))
		},
	}
}

// TestHooksAreTold: of each denial and each wait, with the context of whoever asked.
func TestHooksAreTold(t *testing.T) {
	for name, store := range map[string]bucket.Store{"memory": nil, "remote": newRemote()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if store != nil {
					store = newRemote()
				}
				var h heard
				ctx := context.WithValue(t.Context(), mark{}, 7)
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Second}, Hooks: h.hooks()})
				for _, n := range []int64{1, 1, 1, 2, 0, -1, 3} { // two are granted, two denied, three nothing that is counted
					_, _ = l.AllowN(ctx, "k", n)
				}
				hurried, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := l.Wait(hurried, "k", 2); !errors.Is(err, bucket.ErrDenied) {
					t.Errorf("a wait with too short a deadline: %v", err)
				}
				if err := l.Wait(ctx, "k", 1); err != nil {
					t.Error(err)
				}
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
		})
	}
}

// TestJoinHooksTellsAll also those that are added later: each field of Hooks is joined.
func TestJoinHooksTellsAll(t *testing.T) {
	var a, b heard
	joined := bucket.JoinHooks(a.hooks(), bucket.Hooks{}, b.hooks())
	v := reflect.ValueOf(joined)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "_" && v.Field(i).IsNil() {
			t.Errorf("%s is not joined", name)
		}
	}
	joined.Created(nil)
	joined.Closed(nil)
	joined.Asked(t.Context(), bucket.StoreEvent{})
	joined.Denied(t.Context(), bucket.DenialEvent{})
	joined.Waited(t.Context(), bucket.WaitEvent{})
	for _, h := range []heard{a, b} {
		if h.created+h.closed+len(h.asked)+len(h.denied)+len(h.waited) != 5 {
			t.Errorf("heard %+v", h)
		}
	}
	if none := bucket.JoinHooks(bucket.Hooks{}, bucket.Hooks{}); !reflect.DeepEqual(none, bucket.Hooks{}) {
		t.Error("what nobody listens to is not nil")
	}
}

func TestLogHooksSpeakOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		store := newRemote()
		l := limiter(t, bucket.Config{
			Store: store, Limit: bucket.PerSecond(1), OneByOne: true,
			Hooks: bucket.LogHooks(slog.New(slog.NewTextHandler(&out, nil))),
		})
		_, _ = l.Allow(t.Context(), "k")
		if out.Len() > 0 {
			t.Errorf("logged of a store that answers: %s", out.String())
		}
		store.set(nil, errDown)
		for range 61 { // a failing store is asked about once a second
			_, _ = l.Allow(t.Context(), "k")
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "limiter=test on_failure=fail_open error=down more=0") || !strings.Contains(lines[1], "more=59") {
			t.Errorf("logged %q", lines)
		}
	})
}

// TestTheStoreIsAskedWithTheContextOfWhoeverIsAlone so that a measurement leads to his trace, and not with his deadline.
func TestTheStoreIsAskedWithTheContextOfWhoeverIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		var of []any
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(9), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
			Asked: func(ctx context.Context, _ bucket.StoreEvent) { of = append(of, ctx.Value(mark{})) },
		}})
		ctx, leave := context.WithCancel(context.WithValue(t.Context(), mark{}, 7))
		for _, who := range []context.Context{ctx, ctx, t.Context()} {
			go func() { _, _ = l.Allow(who, "k") }()
			synctest.Wait()
		}
		if s := l.Stats(); s.Asking != 3 || s.Waiting != 0 {
			t.Errorf("stats %+v, want three asking", s)
		}
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if !reflect.DeepEqual(of, []any{7, nil}) || l.Stats().Asking != 0 {
			t.Errorf("asked with %v, want the first's and nobody's; %+v", of, l.Stats())
		}
	})
}

// TestAShareThatIsUsedUpCountsAsThePolicys denial: the store has not denied it.
func TestAShareThatIsUsedUpCountsAsThePolicys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(nil, errDown)
		var h heard
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(4), OnFailure: bucket.LocalShare, Replicas: 2, Hooks: h.hooks()})
		for range 3 {
			_, _ = l.Allow(t.Context(), "k")
		}
		if s := l.Stats(); s.FailedOpen != 2 || s.FailedClosed != 1 || s.Denied != 0 || len(h.denied) != 1 || h.denied[0].Source != bucket.FromPolicy {
			t.Errorf("%+v, told of %+v", s, h.denied)
		}
	})
}

// TestLogHooksKeepNothingOfTheClosed also if they are asked still.
func TestLogHooksKeepNothingOfTheClosed(t *testing.T) {
	hooks := bucket.LogHooks(slog.New(slog.DiscardHandler))
	closed := func() *bucket.Limiter {
		store := newRemote()
		store.set(nil, errDown)
		l := bucket.Must(bucket.New(bucket.Config{Name: "x", Limit: bucket.PerSecond(1), Store: store, Hooks: hooks}))
		_ = l.Close()
		_, _ = l.Allow(t.Context(), "k")
		return l
	}
	gone := weak.Make(closed())
	runtime.GC()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("got a closed Limiter still there, want it collected")
	}
	runtime.KeepAlive(hooks)
}
