package program

import (
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
		why      error
		code     int
		out, err string
	}{
		{fmt.Errorf("asked: %w", flag.ErrHelp), Done, "usage: shop\n", ""},
		{errors.New("-load 9 is too much"), Misused, "", "shop: -load 9 is too much\nshop -h tells all flags\n"},
	} {
		var out, complaints strings.Builder
		code := Explain(&out, &complaints, "shop", "usage: shop\n", tt.why)
		if code != tt.code || out.String() != tt.out || complaints.String() != tt.err {
			t.Errorf("%v: got code %d, %q and %q want %d, %q and %q", tt.why, code, out.String(), complaints.String(), tt.code, tt.out, tt.err)
		}
	}
	if got := Explain(full{}, io.Discard, "shop", "usage: shop\n", flag.ErrHelp); got != Failed {
		t.Errorf("help that cannot be written: got code %d want %d", got, Failed)
	}
}

func TestConclude(t *testing.T) {
	for _, tt := range []struct {
		kept bool
		err  error
		code int
		said string
	}{
		{true, nil, Done, ""},
		{false, nil, Failed, ""},
		{true, errors.New("no room"), Failed, "shop: no room\n"},
	} {
		var complaints strings.Builder
		if code := Conclude(&complaints, "shop", tt.kept, tt.err); code != tt.code || complaints.String() != tt.said {
			t.Errorf("kept %v, error %v: got code %d and %q want %d and %q", tt.kept, tt.err, code, complaints.String(), tt.code, tt.said)
		}
	}
}

func TestASignalEndsWhatIsInterruptible(t *testing.T) {
	ctx := Interruptible()
	if err := ctx.Err(); err != nil {
		t.Fatalf("before: got error %v want nil", err)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
