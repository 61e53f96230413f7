package remote

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	callTimeout  = 50 * time.Millisecond
	testCalls    = 64
	testFailures = 3
)

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

var (
	errStore    = errors.New("store")
	errConflict = errors.New("conflict")
)

// testRules returns rules with which a conflict is an answer.
func testRules() Rules {
	return Rules{Timeout: callTimeout, Calls: testCalls, Failures: testFailures, Judge: func(err error) Verdict {
		if err == nil || errors.Is(err, errConflict) {
			return Answered
		}
		return Failed
	}}
}

func TestGuardPausesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(testRules())
		calls := 0
		var answer error
		try := func() error {
			_, err := Ask(t.Context(), g, func(context.Context) (int, error) { calls++; return 0, answer }, nil)
			return err
		}
		for _, err := range []error{errStore, errStore, nil, errStore, errStore, errConflict, errStore, errStore, errConflict} {
			answer = err
			if got := try(); !errors.Is(got, err) {
				t.Fatalf("got %v, want %v", got, err)
			}
		}
		answer = errStore
		for range testFailures {
			_ = try()
		}
		for _, rest := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second} {
			time.Sleep(rest - 1)
			before := calls
			if err := try(); !errors.Is(err, ErrResting) || calls != before {
				t.Errorf("just before %v: %v, %d calls", rest, err, calls-before)
			}
			time.Sleep(time.Nanosecond)
			if err := try(); !errors.Is(err, errStore) {
				t.Errorf("after %v: %v", rest, err)
			}
		}
		time.Sleep(LongestRest)
		answer = nil
		equal(t, "a store that has recovered", try(), nil)
		equal(t, "a second call", try(), nil)
	})
}

// TestGuardCountsFailuresOfTheServiceOnly checks that calls that were not sent, and those that this
// process was too busy to end in time, begin no pause. Nor do failures beside an answer.
func TestGuardCountsFailuresOfTheServiceOnly(t *testing.T) {
	errNotSent := errors.New("not sent")
	judge := func(err error) Verdict {
		switch {
		case err == nil:
			return Answered
		case errors.Is(err, errNotSent):
			return Unknown
		}
		return Failed
	}
	for name, tt := range map[string]struct {
		call  func(i int) error
		rests bool
	}{
		"fails":       {func(int) error { return errStore }, true},
		"is not sent": {func(int) error { return errNotSent }, false},
		"answers some": {func(i int) error {
			if time.Sleep(callTimeout / 10); i%8 == 0 {
				return nil
			}
			return errStore
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGuard(Rules{Timeout: callTimeout, Calls: testCalls, Failures: testFailures, Silence: 2 * callTimeout, Judge: judge})
			for i := range 50 {
				_, _ = Ask(t.Context(), g, func(context.Context) (int, error) { return 0, tt.call(i) }, nil)
			}
			equal(t, "resting, a service that "+name, g.Resting(), tt.rests)
		})
	}
}

// TestGuardCallersWait checks that callers above Calls wait in order for half of their time, that the
// rest is for their calls, and that none calls during a pause.
func TestGuardCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := testRules()
		rules.Calls, rules.Waiting, rules.Failures = 1, 3, 1
		g := NewGuard(rules)
		took := make(chan string, 9)
		ask := func(name string, call time.Duration, fail error) {
			go func() {
				begun := time.Now()
				_, err := Ask(t.Context(), g, func(context.Context) (int, error) { time.Sleep(call); return 0, fail }, nil)
				took <- fmt.Sprintf("%s: %v, %v", name, time.Since(begun).Milliseconds(), err)
			}()
			synctest.Wait()
		}
		ask("first", 20*time.Millisecond, nil)
		ask("second", 31*time.Millisecond, nil) // it waits for 20 ms, and has 30 ms
		ask("third", 0, nil)
		time.Sleep(10 * time.Millisecond)
		ask("fourth", 0, nil)
		ask("fifth", 0, nil)
		time.Sleep(30 * time.Millisecond)
		ask("sixth", 0, errStore)
		ask("seventh", 0, nil)
		time.Sleep(LongestRest)
		synctest.Wait()
		close(took)
		var got []string
		for s := range took {
			got = append(got, s)
		}
		want := []string{
			"fifth: 0, " + ErrBusy.Error(), "first: 20, <nil>", "third: 25, " + ErrBusy.Error(), "fourth: 25, " + ErrBusy.Error(),
			"second: 50, " + ErrNoAnswer.Error() + ": context deadline exceeded",
			"sixth: 11, " + errStore.Error(), "seventh: 11, " + ErrResting.Error(),
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
}

// TestGuardCallsOnTheGoroutineOfTheCaller checks that it does so if the service is prompt, and no call
// of the last second was slow.
func TestGuardCallsOnTheGoroutineOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := testRules()
		rules.Prompt = true
		g := NewGuard(rules)
		onCaller := func(length time.Duration) (is bool) {
			_, _ = Ask(t.Context(), g, func(context.Context) (int, error) {
				time.Sleep(length)
				is = strings.Contains(string(debug.Stack()), "testing.tRunner(")
				return 0, nil
			}, nil)
			return is
		}
		for i, tt := range []struct {
			pause, length time.Duration
			want          bool
		}{
			{0, callTimeout / 2, true},
			{0, callTimeout/2 + 1, true},
			{time.Second - 1, 0, false},
			{1, callTimeout, true},
			{time.Second - 1, callTimeout * 2 / 3, false},
			{time.Second - 1, 0, false},
			{1, 0, true},
		} {
			time.Sleep(tt.pause)
			equal(t, fmt.Sprintf("call %d on the caller's goroutine", i), onCaller(tt.length), tt.want)
		}
	})
}

// TestGuardCallsAgainAfterATrialThatEndsItsGoroutine, on the goroutine of the caller or on another one.
func TestGuardCallsAgainAfterATrialThatEndsItsGoroutine(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rules := testRules()
			rules.Prompt = prompt
			g := NewGuard(rules)
			ask := func(f func()) (err error) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, err = Ask(t.Context(), g, func(context.Context) (int, error) { f(); return 0, errStore }, nil)
				}()
				<-done
				return err
			}
			for range testFailures {
				_ = ask(func() {})
			}
			time.Sleep(LongestRest)
			_ = ask(runtime.Goexit)
			time.Sleep(LongestRest)
			if err := ask(func() {}); !errors.Is(err, errStore) {
				t.Errorf("prompt %t: got %v want a call", prompt, err)
			}
		})
	}
}

// TestGuardJudgesCallsOfHurriedCallers checks that a call goes on after its caller has left, and
// that its end counts, also if the service ignores its context.
func TestGuardJudgesCallsOfHurriedCallers(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rules := testRules()
			rules.Early = true
			g := NewGuard(rules)
			gate := make(chan struct{})
			for range testFailures {
				ctx, cancel := context.WithTimeout(t.Context(), callTimeout/2)
				begun := time.Now()
				_, err := Ask(ctx, g, func(ctx context.Context) (int, error) {
					if deaf {
						<-gate
					}
					<-ctx.Done()
					return 0, ctx.Err()
				}, nil)
				if !errors.Is(err, ErrNoAnswer) || time.Since(begun) != callTimeout*2/5 {
					t.Errorf("got %v after %v, want ErrNoAnswer after 80 %% of %v", err, time.Since(begun), callTimeout/2)
				}
				cancel()
			}
			time.Sleep(callTimeout)
			if !g.Resting() {
				t.Errorf("deaf %t: not resting after %d calls without an answer", deaf, testFailures)
			}
			close(gate)
		})
	}
}
