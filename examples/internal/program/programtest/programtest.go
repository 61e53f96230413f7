// Package programtest has helpers for tests of the commands.
package programtest

import (
	"context"
	"database/sql"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// Command is the function of a program that main calls. It returns the exit code.
type Command func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// Refuses tests that the command rejects arguments: these, a flag that no program has, and a word. Each error must
// contain the given text.
func Refuses(t *testing.T, command Command, texts map[string]string) {
	t.Helper()
	texts["-verbose"], texts["fast"] = "flag provided but not defined: -verbose", `"fast" is not a flag`
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

// TakenAddress returns an address that has a listener until the test ends.
func TakenAddress(t *testing.T) string {
	t.Helper()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	return taken.Addr().String()
}

// NeedsSQLite skips a test in a build with the tag nosqlite. If SPILLWAY_REQUIRE_SERVICES is set, it fails the test.
func NeedsSQLite(t *testing.T) {
	t.Helper()
	switch {
	case slices.Contains(sql.Drivers(), "sqlite"):
	case os.Getenv("SPILLWAY_REQUIRE_SERVICES") != "":
		t.Fatal("needs SQLite: build it without the tag nosqlite")
	default:
		t.Skip("needs SQLite, which this build leaves out: make test-services runs this test")
	}
}

// Quiet waits until no goroutine has one of the words in its stack, except those of the tests
// themselves. Idle connections end a moment after they are closed.
func Quiet(t *testing.T, words ...string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(goroutines(words)) > 0 {
		<-tick.C // until the timeout of go test, which prints the stacks
	}
}

// goroutines returns the stacks that contain one of the words. It leaves out the calling test and
// the tests around it.
func goroutines(words []string) []string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2) // a Builder returns no error
	return slices.DeleteFunc(strings.Split(all.String(), "\n\n"), func(stack string) bool {
		tests := strings.Contains(stack, "programtest.goroutines(") || strings.Contains(stack, "testing.(*T).Run(0x")
		return tests || !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(stack, word) })
	})
}
