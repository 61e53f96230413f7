package otelthrottle_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// accepted, rejected and shedOwn name series of throttle.calls of the throttle db.
func accepted(p throttle.Priority) string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", p.String(),
		"throttle.decision", "admitted", "throttle.outcome", "accepted")
}

func rejected(p throttle.Priority) string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", p.String(),
		"throttle.decision", "admitted", "throttle.outcome", "rejected", "error.type", "availability")
}

func shedOwn(p throttle.Priority) string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", p.String(),
		"throttle.decision", "shed", "throttle.outcome", "shed", "error.type", "shed", "throttle.cause", "own")
}

// present names a series that has only the throttle's name, db, and a priority.
func present(metric string, p throttle.Priority) string {
	return series(metric, "throttle.name", "db", "throttle.priority", p.String())
}

const clampedSeries = semconv.MetricPriorityClamped + "{throttle.name=db}"

// TestThrottlesOfOneNameAreOneSource adds up what can be added, and takes the highest probability.
func TestThrottlesOfOneNameAreOneSource(t *testing.T) {
	l := newLab(t, setup{})
	calm, tried, worst := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db"}), l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db"}), l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db"})
	other := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "other"})
	times(2, other, throttle.Low, nil)
	times(30, calm, throttle.Low, nil)
	l.reject(t, tried, throttle.Low, 20)
	l.reject(t, worst, throttle.Low, 60)
	l.shed(t.Context(), t, worst, throttle.Low, 3)
	_ = tried.Do(t.Context(), 99, succeed)
	for range 2 {
		if _, err := calm.Admit(t.Context(), throttle.Low); err != nil {
			t.Fatalf("Admit: got error %v want nil", err)
		}
	}
	if _, err := tried.Admit(t.Context(), throttle.Low); err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}

	got := l.read(t)
	want := snapshot{
		accepted(throttle.Low): 31, rejected(throttle.Low): 80, shedOwn(throttle.Low): 3, clampedSeries: 1,
		present(semconv.MetricCallActive, throttle.Low):           3,
		present(semconv.MetricWindowRequests, throttle.Low):       114,
		present(semconv.MetricWindowAccepts, throttle.Low):        31,
		present(semconv.MetricRejectionProbability, throttle.Low): 63.0 / 123,
	}
	for key, value := range want {
		equal(t, key, got[key], value)
	}
	equal(t, "the other name's calls", got[series(semconv.MetricCalls, "throttle.name", "other",
		"throttle.priority", "low", "throttle.decision", "admitted", "throttle.outcome", "accepted")], 2)

	_ = worst.Close()
	want[present(semconv.MetricWindowRequests, throttle.Low)] = 51
	want[present(semconv.MetricRejectionProbability, throttle.Low)] = (21 - 2.0*1) / (21 + 60)
	for key, value := range want {
		equal(t, "after the worst has closed, "+key, l.read(t)[key], value)
	}
}

// TestNumbersOfPrioritiesMayDiffer has throttles of one name with 2, 4 and 16 priorities.
func TestNumbersOfPrioritiesMayDiffer(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithoutDuration()}})
	open := map[int]*throttle.Throttle{}
	for _, n := range []int{4, 16, 2} {
		open[n] = l.throttle(t, throttle.Config{Name: "db", Priorities: n})
		for p := range n {
			times(n, open[n], throttle.Priority(p), nil)
		}
	}
	want := snapshot{}
	for p := range throttle.Priority(16) {
		want[accepted(p)] = 16
		if p < 4 {
			want[accepted(p)] += 4
		}
		if p < 2 {
			want[accepted(p)] += 2
		}
	}
	for _, n := range []int{0, 2, 16} {
		if n > 0 {
			_ = open[n].Close()
		}
		t.Run(fmt.Sprintf("after closing the one of %d", n), func(t *testing.T) {
			l.read(t).of(semconv.MetricCalls).positive().want(t, want)
		})
	}
}

// TestCallInFlightAtCloseCounts ends calls after their throttle was closed, with and without another of the name.
func TestCallInFlightAtCloseCounts(t *testing.T) {
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprintf("last of the name %v", last), func(t *testing.T) {
			l := newLab(t, setup{})
			hooks := throttle.Config{Name: "db", Hooks: l.tel.Hooks()}
			keeper, th := throttle.Must(throttle.New(hooks)), throttle.Must(throttle.New(hooks))
			call, err := th.Admit(t.Context(), throttle.High)
			if err != nil {
				t.Fatalf("Admit: got error %v want nil", err)
			}
			_ = th.Close()
			if last {
				_ = keeper.Close()
			}
			before := l.read(t)
			equal(t, "accepted before the end", before[accepted(throttle.High)], 0)
			call.Done(nil)
			if last {
				l.read(t).of(semconv.MetricCalls).want(t, snapshot{})
				keeper = throttle.Must(throttle.New(hooks))
			} else {
				equal(t, "active is of open throttles", before[present(semconv.MetricCallActive, throttle.High)], 0)
			}
			for range 2 {
				got := l.read(t)
				equal(t, "accepted after the end", got[accepted(throttle.High)], 1)
				equal(t, "durations", got[series(semconv.MetricCallDuration,
					"throttle.name", "db", "throttle.priority", "high", "throttle.outcome", "accepted")], 1)
			}
			_ = keeper.Close()
		})
	}
}

// TestTwoAdaptersSeeTheSame joins the hooks of two adapters with a reader each.
func TestTwoAdaptersSeeTheSame(t *testing.T) {
	l, other := newLab(t, setup{}), newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Hooks: other.tel.Hooks()})
	l.reject(t, th, throttle.Low, 60)
	l.shed(t.Context(), t, th, throttle.Low, 3)
	times(2, th, throttle.High, nil)
	other.read(t).want(t, l.read(t))
	if err := other.tel.Shutdown(context.Background()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	equal(t, "accepted, by the one left", l.read(t)[accepted(throttle.High)], 2)
	other.read(t).of(semconv.MetricCalls).want(t, snapshot{})
}

// TestProbabilityIsThatOfTheScrape has no calls while the window moves on.
func TestProbabilityIsThatOfTheScrape(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db"})
	l.reject(t, th, throttle.Low, 60)
	probability := present(semconv.MetricRejectionProbability, throttle.Low)
	equal(t, "probability", l.read(t)[probability], 0.5)
	l.advance(2 * time.Minute)
	got := l.read(t)
	equal(t, "probability when the window has passed", got[probability], 0)
	equal(t, "requests in the window", got[present(semconv.MetricWindowRequests, throttle.Low)], 0)
	equal(t, "rejected calls", got[rejected(throttle.Low)], 60)
}

// TestSeriesEndAndResume has two members of one name, and one of another. What is closed still
// counts; the series of a name end with its last member, and resume with the next.
func TestSeriesEndAndResume(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		first, second, other := s.start(l, manner{name: "a"}), s.start(l, manner{name: "a"}), s.start(l, manner{name: "b"})
		for range 3 {
			first.use(t.Context())
		}
		second.use(t.Context())
		uses := s.counter("a")
		equal(t, "uses", l.read(t)[uses], 4)
		for range 2 {
			_ = first.Close()
			equal(t, "uses, one closed", l.read(t)[uses], 4)
		}
		_ = second.Close()
		now := l.read(t)
		equal(t, "series of the name", len(now.named("a")), 0)
		equal(t, "series of the other name", len(now.named("b")), len(now))

		second.use(t.Context()) // second is closed: no series shows this
		third := s.start(l, manner{name: "a"})
		equal(t, "uses, resumed", l.read(t)[uses], 4)
		third.use(t.Context())
		equal(t, "uses after the return", l.read(t)[uses], 5)
		_, _ = third.Close(), other.Close()
		l.read(t).want(t, snapshot{})
	}, otelthrottle.WithoutDuration())
}
