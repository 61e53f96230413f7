package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// outcomeSwitch is a Classifier that says what the test says.
type outcomeSwitch struct{ outcome throttle.Outcome }

func (s *outcomeSwitch) classify(context.Context, error) (throttle.Outcome, bool) {
	return s.outcome, s.outcome != throttle.Shed
}

// everyEnding makes calls of priority Important that end in every way there is: each outcome with each fault and with none.
func everyEnding(t testing.TB, l *lab, c throttle.Config, prepare func(*throttle.Throttle)) {
	t.Helper()
	s := &outcomeSwitch{outcome: throttle.Shed}
	c.Name, c.Priorities, c.Classify = "db", 2, s.classify
	th := l.throttle(t, c)
	prepare(th)
	for o := range throttle.Shed {
		call, err := th.Admit(t.Context(), throttle.Important)
		if err != nil {
			t.Fatalf("Admit: got error %v want nil", err)
		}
		call.Finish(o)
		s.outcome = o
		for _, err := range errorsOfEveryFault() {
			times(1, th, throttle.Important, err)
		}
	}
}

// everyFallback makes calls of priority Important whose fallbacks end in every way, for every reason to have one.
func everyFallback(t testing.TB, l *lab) {
	t.Helper()
	s := &outcomeSwitch{outcome: throttle.Shed}
	calm := l.throttle(t, throttle.Config{Name: "db", Priorities: 2, Mode: throttle.Off, Classify: s.classify})
	worn := l.throttle(t, throttle.Config{Name: "db", Priorities: 2})
	l.reject(t, worn, throttle.Important, 60)
	for _, err := range append(errorsOfEveryFault(), nil) {
		fallback := func(context.Context, error, bool) error { return err }
		for s.outcome = throttle.Accepted; s.outcome < throttle.Shed; s.outcome++ {
			_ = calm.Do(t.Context(), throttle.Important, returns(errPlain), fallback)
		}
		l.sheds.Store(true)
		_ = worn.Do(t.Context(), throttle.Important, succeed, fallback)
		l.sheds.Store(false)
	}
}

// ofImportant counts the series of a priority, by metric.
func ofImportant(s snapshot) map[string]int {
	n := map[string]int{}
	for key := range s {
		if metric, _, _ := strings.Cut(key, "{"); strings.Contains(key, "throttle.priority=important") {
			n[metric]++
		}
	}
	return n
}

// TestSeriesPerThrottle counts them, and holds the package comment to the numbers.
func TestSeriesPerThrottle(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	start := l.read(t)
	perPriority := 0
	for _, n := range ofImportant(start) {
		perPriority += n
	}
	equal(t, "series of a throttle at start", len(start), 4*perPriority+1)
	_ = th.Close()

	own := func(th *throttle.Throttle) { l.reject(t, th, throttle.Important, 60) }
	above := func(th *throttle.Throttle) {
		l.reject(t, th, throttle.High, 60)
		l.reject(t, th, throttle.Important, 20)
	}
	everyEnding(t, l, throttle.Config{Mode: throttle.Off}, func(*throttle.Throttle) {})
	for _, cause := range []func(*throttle.Throttle){own, above} {
		everyEnding(t, l, throttle.Config{Mode: throttle.Shadow}, func(th *throttle.Throttle) {
			cause(th)
			l.sheds.Store(true)
		})
		l.sheds.Store(false)
	}
	everyFallback(t, l)
	most := ofImportant(l.read(t))

	const faults, causes, outcomes = throttle.NumFaults, throttle.NumCauses, throttle.NumOutcomes - 1
	endings := outcomes * faults
	equal(t, "durations", most[otelthrottle.MetricCallDuration], endings)
	equal(t, "calls", most[otelthrottle.MetricCalls], endings+causes+causes*endings)
	equal(t, "fallbacks", most[otelthrottle.MetricFallbacks], (outcomes+1)*faults)

	comment := strings.Join(strings.Fields(packageComment(t)), " ")
	for _, sentence := range []string{
		fmt.Sprintf("starts with %d series per priority and one more: %d with four priorities", perPriority, len(start)),
		fmt.Sprintf("at most %d of throttle.calls", most[otelthrottle.MetricCalls]),
		fmt.Sprintf("%d of throttle.fallbacks", most[otelthrottle.MetricFallbacks]),
		fmt.Sprintf("%d of throttle.call.duration", most[otelthrottle.MetricCallDuration]),
		fmt.Sprintf("each %d series in Prometheus", seriesOfAHistogram),
		fmt.Sprintf("about %d ways to end", defaultEndings(t)),
	} {
		if !strings.Contains(comment, sentence) {
			t.Errorf("package comment: got no %q", sentence)
		}
	}
}

// seriesOfAHistogram is how many series one set of attributes of the histogram is in Prometheus: 15 buckets, that of everything, the sum
// and the count.
const seriesOfAHistogram = 15 + 3

// defaultEndings counts the ways in which a call can end where nobody changes the classification.
func defaultEndings(t *testing.T) int {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.Off})
	for _, err := range append(errorsOfEveryFault(), nil) {
		if errors.Is(err, throttle.ErrPanicked) { // which is no error that a function returns
			_ = survive(func() { _ = th.Do(t.Context(), throttle.High, func(context.Context) error { panic("boom") }) })
			continue
		}
		times(1, th, throttle.High, err)
	}
	return len(l.read(t).of(otelthrottle.MetricCallDuration))
}
