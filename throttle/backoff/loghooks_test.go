package backoff_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

type lines struct{ text bytes.Buffer }

func (l *lines) hooks() backoff.Hooks {
	return backoff.LogHooks(slog.New(slog.NewTextHandler(&l.text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
}

func (l *lines) since() []string {
	defer l.text.Reset()
	return strings.FieldsFunc(l.text.String(), func(r rune) bool { return r == '\n' })
}

func (l *lines) want(t *testing.T, when string, want ...string) {
	t.Helper()
	got := l.since()
	if len(got) != len(want) {
		t.Errorf("%s: got %q want %q", when, got, want)
		return
	}
	for i := range want {
		for part := range strings.SplitSeq(want[i], "|") {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: got %q want %q in it", when, got[i], part)
			}
		}
	}
}

// TestLogHooksLimitRepeats has a delay that reaches its maximum and leaves it with each call.
func TestLogHooksLimitRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", Mode: backoff.Sleep, InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: -1,
			DownMultiplierThreshold: 1, Hooks: log.hooks(),
		}))
		for i := range 600 { // one is throttled, one waits for a second and is served
			wait(t, r).Finish([]backoff.Outcome{backoff.Throttled, backoff.Success}[i%2])
		}
		got := log.since()
		if len(got) != 10 || !strings.Contains(got[2], "suppressed=59") {
			t.Errorf("in five minutes: got %d lines %q want a pair a minute, of sixty times each", len(got), got)
		}
	})
}

// TestLogHooksAfterClose wants no line of a closed Responsive, and those of others.
func TestLogHooksAfterClose(t *testing.T) {
	var log lines
	hooks := log.hooks()
	build := func(name string) *backoff.Responsive {
		return backoff.Must(backoff.New(backoff.Config{Name: name, InitialInterval: time.Second, MaxInterval: time.Second, Hooks: hooks}))
	}
	one, two := build("one"), build("two")
	for _, r := range []*backoff.Responsive{one, two} {
		wait(t, r).Finish(backoff.Throttled)
	}
	log.want(t, "two", "backoff=one", "backoff=two")
	_ = one.Close()
	one.Reset()
	two.Reset()
	log.want(t, "one is closed", "level=INFO|backoff=two")
}

func TestLogHooksOutOfOrder(t *testing.T) {
	var log lines
	var late []backoff.StepEvent
	hooks := log.hooks()
	r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, Hooks: backoff.Hooks{
		Stepped: func(e backoff.StepEvent) { late = append(late, e) },
	}}))
	for range 3 {
		wait(t, r).Finish(backoff.Throttled)
		r.Reset()
	}
	hooks.Stepped(late[1])
	hooks.Stepped(late[0]) // the step down arrives before the step up
	log.want(t, "in the wrong order")
	hooks.Stepped(late[2])
	hooks.Stepped(late[3])
	log.want(t, "once more", "level=WARN", "level=INFO")
}

// TestLogHooks_Tune raises MaxInterval while the delay is at its maximum. The end of that is logged, and
// the next time too.
func TestLogHooks_Tune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Second, MaxInterval: 2 * time.Second, UpMultiplier: 2, DownMultiplier: 0.5, DownMultiplierThreshold: 1,
			RandomizationFactor: -1, Hooks: log.hooks(),
		}))
		defer r.Close()
		do := func(outcomes ...backoff.Outcome) {
			for _, o := range outcomes {
				wait(t, r).Finish(o)
			}
		}
		do(backoff.Throttled, backoff.Throttled)
		log.want(t, "at 2 s", "at its maximum")
		must(t, r.Tune(backoff.Patch{MaxInterval: new(throttle.Duration(4 * time.Second))}))
		do(backoff.Success, backoff.Success, backoff.Success)
		log.want(t, "at 0", "below its maximum")
		time.Sleep(2 * time.Minute)
		do(backoff.Throttled, backoff.Throttled, backoff.Throttled)
		log.want(t, "at 4 s", "at its maximum")
	})
}
