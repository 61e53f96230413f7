package throttle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// tracer returns hooks like those of a tracer: Started adds its name to the context's trail, everything else notes the trail.
func tracer(told *[]string, name string) throttle.Hooks {
	trail := func(ctx context.Context) string { s, _ := markOf(ctx).(string); return s }
	note := func(moment string, ctx context.Context) {
		*told = append(*told, strings.TrimSpace(fmt.Sprintf("%s %s: %s", name, moment, trail(ctx))))
	}
	return throttle.Hooks{
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			note("started", ctx)
			return context.WithValue(ctx, markKey{}, trail(ctx)+name)
		},
		Finished: func(ctx context.Context, _ throttle.FinishEvent) { note("finished", ctx) },
		FellBack: func(ctx context.Context, _ throttle.FallbackEvent) { note("fell back", ctx) },
	}
}

// TestJoinedHooksThreadTheContext: each Started builds on the one before, and all later moments see what the last one
// made. Nil changes nothing.
func TestJoinedHooksThreadTheContext(t *testing.T) {
	var told []string
	silent := throttle.Hooks{Started: func(context.Context, throttle.StartEvent) context.Context { return nil }}
	hooks := throttle.JoinHooks(silent, tracer(&told, "a"), throttle.Hooks{}, tracer(&told, "b"), silent,
		tracer(&told, "c"), silent)
	th := build(t, throttle.Config{Hooks: hooks})
	_ = th.Do(t.Context(), throttle.High, func(ctx context.Context) error {
		equal(t, "trail that fn sees", markOf(ctx), any("abc"))
		return errPlain
	}, func(context.Context, error, bool) error { return nil })
	want := []string{
		"a started:", "b started: a", "c started: ab",
		"a fell back: abc", "b fell back: abc", "c fell back: abc",
		"c finished: abc", "b finished: abc", "a finished: abc",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told:\ngot  %q\nwant %q", told, want)
	}
}
