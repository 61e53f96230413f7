package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// full is a stream that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		err            error
		code           int
		stdout, stderr string
	}{
		{fmt.Errorf("flags: %w", flag.ErrHelp), Done, "usage: shop\n", ""},
		{errors.New("-load 9 is too high"), Misused, "", "shop: -load 9 is too high\nRun shop -h for the flags.\n"},
	} {
		var stdout, stderr strings.Builder
		code := Explain(&stdout, &stderr, "shop", "usage: shop\n", tt.err)
		if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%v: got code %d, %q and %q want %d, %q and %q",
				tt.err, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.stderr)
		}
	}
	if got := Explain(full{}, io.Discard, "shop", "usage: shop\n", flag.ErrHelp); got != Failed {
		t.Errorf("usage that cannot be written: got code %d want %d", got, Failed)
	}
}

func TestConclude(t *testing.T) {
	for _, tt := range []struct {
		err    error
		code   int
		stderr string
	}{
		{nil, Done, ""},
		{fmt.Errorf("create tables: %w", context.Canceled), Done, ""},
		{errors.New("no space left"), Failed, "shop: no space left\n"},
	} {
		var stderr strings.Builder
		if code := Conclude(&stderr, "shop", tt.err); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%v: got code %d and %q want %d and %q", tt.err, code, stderr.String(), tt.code, tt.stderr)
		}
	}
}

func TestASignalEndsTheContext(t *testing.T) {
	ctx := Interruptible()
	if err := ctx.Err(); err != nil {
		t.Fatalf("before the signal: got error %v want nil", err)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}

func TestEvery(t *testing.T) {
	for total, want := range map[time.Duration]int{3 * time.Second: 3, 2500 * time.Millisecond: 3, time.Millisecond: 1, 0: 100} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start, calls := time.Now(), 0
			err := Every(ctx, time.Second, total, func(elapsed time.Duration) error {
				if calls++; elapsed != time.Since(start) || elapsed != time.Duration(calls)*time.Second {
					t.Errorf("call %d: got elapsed %v after %v", calls, elapsed, time.Since(start))
				}
				if calls == 100 {
					cancel()
				}
				return nil
			})
			if calls != want || err != nil {
				t.Errorf("total %v: got %d calls and error %v want %d and nil", total, calls, err, want)
			}
		})
	}
}

func TestAnErrorEndsEvery(t *testing.T) {
	want := errors.New("no space left")
	if err := Every(t.Context(), time.Nanosecond, 0, func(time.Duration) error { return want }); !errors.Is(err, want) {
		t.Errorf("got error %v want %v", err, want)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("Sleep: got %v after %v want nil after 1s", err, time.Since(start))
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("a context that ends: got %v after %v want its error after 1m0s", err, time.Since(start))
		}
	})
}
