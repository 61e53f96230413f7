package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// added returns the number of series of this module that start adds to a scrape.
func (e *endpoint) added(t *testing.T, start func()) (n int) {
	t.Helper()
	before := e.scrape(t, "")
	start()
	return strings.Count(e.scrape(t, ""), "\nthrottle_") - strings.Count(before, "\nthrottle_")
}

// guideResults are the results of calls that the page counts: success, a fault, a rejection and a cancellation.
func guideResults() []error {
	return []error{nil, faults.NotFound, faults.Unavailable(0), context.Canceled}
}

// callAll makes a call of each priority with each of guideResults.
func callAll(th *throttle.Throttle) {
	for p := range throttle.Priority(throttle.StandardPriorities) {
		for _, err := range guideResults() {
			times(1, th, p, err)
		}
	}
}

// seriesOfEach starts the systems of the page's table in its order, and returns the number of series that each adds: two
// throttles, a group, a breaker of a hundred circuits, two limiters of a hundred keys, and a backoff that has slept once.
func seriesOfEach(t *testing.T, l *lab, e *endpoint) []int {
	t.Helper()
	off := func(name string) func() {
		return func() { callAll(l.throttle(t, throttle.Config{Name: name, Mode: throttle.ModeOff})) }
	}
	limiter := func(c bucket.Config) func() {
		return func() {
			limiter := l.limiter(t, c)
			for i := range 100 {
				if _, err := limiter.Decide(t.Context(), fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	group := func() {
		hosts := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
			return throttle.Config{Name: "hosts", Mode: throttle.ModeOff, Hooks: l.tel.Hooks()}
		}, throttle.GroupConfig{}))
		for i := range 50 {
			callAll(groupMember(t, hosts, fmt.Sprint(i)))
		}
	}
	var counts []int
	for _, start := range []func(){
		off("stock"), off("payments"), group,
		func() {
			m := l.breaker(t, breaker.Config{})
			for i := range 100 {
				disable(t, m, breaker.Key{ID: fmt.Sprint(i)})
			}
			if err := m.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		limiter(bucket.Config{Name: "searches"}), limiter(bucket.Config{Store: newDoubtfulStore(nil)}),
		func() {
			r := l.backoff(t, backoff.Config{Mode: backoff.Sleep, InitialInterval: time.Millisecond})
			if err := r.SleepOnFailure(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		counts = append(counts, e.added(t, start))
	}
	return counts
}

// alertReasons returns every reason of an alert, NoAlert first.
func alertReasons() (all []throttle.AlertReason) {
	for r := throttle.NoAlert; ; r++ {
		if _, err := r.MarshalText(); err != nil {
			return all
		}
		all = append(all, r)
	}
}

// wantOnPage fails the test if docs/series-and-cost.md lacks a text.
func wantOnPage(t *testing.T, texts ...string) {
	t.Helper()
	page, err := os.ReadFile("../docs/series-and-cost.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(string(page)), " ")
	for _, text := range texts {
		if !strings.Contains(words, text) {
			t.Errorf("docs/series-and-cost.md: got no %q", text)
		}
	}
}

// TestSeriesOfThePage counts the series of the process in docs/series-and-cost.md, and compares them with its table and with its
// formulas for a throttle before and after calls.
func TestSeriesOfThePage(t *testing.T) {
	for name, options := range map[string][]otelthrottle.Option{
		"with durations": nil, "`WithoutDuration`": {otelthrottle.WithoutDuration()},
	} {
		l, e := newScrapedLab(t, setup{options: options})
		counts := seriesOfEach(t, l, e)
		sum, row := 0, "| "+name+" |"
		for _, n := range counts {
			sum, row = sum+n, fmt.Sprintf("%s %d |", row, n)
		}
		wantOnPage(t, fmt.Sprintf("%s **%d** |", row, sum))
		if options != nil {
			continue
		}
		// Without a priority: one for each reason of an alert, the background, the invalid priorities, the open calls and the mode.
		more, priorities := len(alertReasons())+4, throttle.StandardPriorities
		wantOnPage(t, fmt.Sprintf("%d + P × (6 + 19 × E + F)", more), fmt.Sprintf("`%d + 7 × P`", more),
			fmt.Sprintf("With the policy `SRE` it has %d fewer", len(alertReasons())+1))
		for _, n := range []int{counts[0], counts[2]} { // of a throttle, and of a group
			equal(t, "series with calls", n, more+priorities*(6+19*len(guideResults())))
		}
		idle := more + 7*priorities
		equal(t, "series without calls", e.added(t, func() { l.throttle(t, throttle.Config{Name: "idle"}) }), idle)
		sre := e.added(t, func() { l.throttle(t, throttle.Config{Name: "sre", Policy: throttle.SRE}) })
		equal(t, "series of the policy SRE", sre, idle-len(alertReasons())-1)
	}
}

// TestEndingsOfThePage counts the ways in which a call can end with the default classification.
func TestEndingsOfThePage(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.ModeOff})
	for _, err := range []error{ // of every fault
		faults.Unavailable(0), faults.ResourceExhausted(), faults.Unauthenticated, faults.PermissionDenied, faults.Bad(), faults.Aborted(),
		faults.NotFound, faults.FailedPrecondition(), faults.Unimplemented, context.DeadlineExceeded, context.Canceled,
		throttle.ErrShed, throttle.ErrPanicked, errPlain, nil,
	} {
		if errors.Is(err, throttle.ErrPanicked) { // which is no error that a function returns
			_ = survive(func() { _ = th.Do(t.Context(), throttle.High, func(context.Context) error { panic("boom") }) })
			continue
		}
		times(1, th, throttle.High, err)
		if err != nil {
			times(1, th, throttle.High, fmt.Errorf("user 17: %w", err)) // ends in the same way
		}
	}
	wantOnPage(t, fmt.Sprintf("By default, calls have %d ways to end", len(l.read(t).of(semconv.MetricCallDuration))))
}
