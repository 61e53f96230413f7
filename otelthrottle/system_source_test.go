package otelthrottle_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// accepted names a series of throttle.calls of the throttle db.
func accepted(p throttle.Priority) string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", p.String(),
		"throttle.decision", "admitted", "throttle.outcome", "accepted")
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
				equal(t, "active is of open throttles", before[series(semconv.MetricCallActive, "throttle.name", "db", "throttle.priority", "high")], 0)
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

// TestSeriesEndAndResume has two members of one name, and one of another. What is closed still
// counts; the series of a name end with its last member, and resume with the next. Hooks that are joined twice count once.
func TestSeriesEndAndResume(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		a := manner{name: "a", twice: true}
		first, second, other := s.start(l, a), s.start(l, a), s.start(l, manner{name: "b"})
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
