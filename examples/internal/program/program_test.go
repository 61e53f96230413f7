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
