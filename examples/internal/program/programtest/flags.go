package programtest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// Command is the function of a program that main calls. It returns the exit code.
type Command func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// Refuses tests that the program refuses arguments, each with a text that contains the given one.
func Refuses(t *testing.T, command Command, texts map[string]string) {
	t.Helper()
	for args, want := range texts {
		var stdout, stderr strings.Builder
		code := command(t.Context(), strings.Fields(args), &stdout, &stderr)
		if code != program.Misused || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: got code %d, %q and %q want %d and %q", args, code, stdout.String(), stderr.String(), program.Misused, want)
		}
	}
}

// Explains tests that -h prints a line for each flag.
func Explains(t *testing.T, command Command, flags ...string) {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := command(t.Context(), []string{"-h"}, &stdout, &stderr); code != program.Done || stderr.Len() > 0 {
		t.Errorf("-h: got code %d and %q want 0 and no error", code, stderr.String())
	}
	for _, flag := range flags {
		if !strings.Contains(stdout.String(), "\n  "+flag) {
			t.Errorf("-h: got no line for %s", flag)
		}
	}
}
