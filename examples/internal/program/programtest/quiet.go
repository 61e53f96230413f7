package programtest

import (
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// Quiet waits until no goroutine is left that has one of the words in its stack, but for the tests'
// own: connections take a moment to notice that they are not needed.
func Quiet(t *testing.T, words ...string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(goroutines(words)) > 0 {
		<-tick.C // to the timeout of go test, which prints the stacks
	}
}

// goroutines returns the stacks with one of the words, without that of the test which asks and
// those of the tests around it.
func goroutines(words []string) []string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2) // a Builder takes everything
	return slices.DeleteFunc(strings.Split(all.String(), "\n\n"), func(stack string) bool {
		tests := strings.Contains(stack, "programtest.goroutines(") || strings.Contains(stack, "testing.(*T).Run(0x")
		return tests || !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(stack, word) })
	})
}
