package otelthrottle_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

// TestMembersComeAndGo collects while members of three names are made, used and closed. No counter
// falls, and no use is lost. That the Stats of a throttle are what its hooks report, package throttle tests.
func TestMembersComeAndGo(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		names := []string{"a", "b", "c"}
		var uses [3]atomic.Int64
		for _, name := range names {
			s.start(l, manner{name: name}) // stays, so that the series do
		}
		counted := func(all snapshot) snapshot {
			some := snapshot{}
			for _, name := range names {
				some[s.counter(name)] = all[s.counter(name)]
			}
			return some
		}
		l.readDuring(t, counted, func() {
			atRandom(8, 11, func(dice *rand.Rand) {
				for range few(60, 15) {
					i := dice.IntN(len(names))
					m := s.start(l, manner{name: names[i]})
					for range dice.IntN(20) {
						m.use(context.Background())
						uses[i].Add(1)
					}
					_ = m.Close()
				}
			})
		})
		for i, name := range names {
			got, want := l.read(t), float64(uses[i].Load())
			equal(t, "uses of "+name, got[s.counter(name)], want)
			if s.noun == "throttle" {
				equal(t, "durations of "+name, got.of(semconv.MetricCallDuration).named(name).with(""), want)
			}
		}
	})
}
