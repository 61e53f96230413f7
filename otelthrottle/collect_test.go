package otelthrottle_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// brokenClock is a Config.Now that panics as soon as the test says so.
type brokenClock struct{ broken bool }

func (c *brokenClock) now() time.Time {
	if c.broken {
		panic("clock stopped")
	}
	return time.Unix(0, 0)
}

func (c *brokenClock) throttle(l *lab, name string) *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{Name: name, Now: c.now, Hooks: l.tel.Hooks()}))
}

// TestAClockThatPanicsLeavesOneNameOut of the collection, only while it panics. All others are reported.
func TestAClockThatPanicsLeavesOneNameOut(t *testing.T) {
	errs, l, clock := newErrorLog(t), newLab(t, setup{}), &brokenClock{}
	times(2, clock.throttle(l, "db"), throttle.High, nil)
	times(3, l.throttle(t, throttle.Config{Name: "db"}), throttle.High, nil)
	times(1, l.throttle(t, throttle.Config{Name: "other"}), throttle.High, nil)
	admit(t, l.breaker(t, breaker.Config{}), breaker.Key{ID: "a"})
	take(t.Context(), t, l.limiter(t, bucket.Config{}), 1)
	end(t.Context(), t, l.backoff(t, backoff.Config{}), backoff.Success)
	whole := l.read(t)
	equal(t, "accepted of both", whole[accepted(throttle.High)], 5)
	equal(t, "a word about the clock that works", errs.mentions("clock stopped"), false)

	clock.broken = true
	without := l.read(t)
	for key, value := range whole.of(semconv.MetricCalls).positive() {
		if key != accepted(throttle.High) {
			equal(t, key, without[key], value)
		}
	}
	for _, key := range []string{decided("admitted", breaker.Closed), requests(semconv.ResultGranted), ended("success")} {
		equal(t, key, without[key], 1)
	}
	if _, told := without[accepted(throttle.High)]; told {
		t.Error("got series of the name that cannot be read, want none: a part of their sum would be a counter that falls")
	}
	equal(t, "a word about it", errs.mentions(`otelthrottle: this collection leaves out throttle "db": reading the counters panicked: clock stopped`), true)

	clock.broken = false
	equal(t, "accepted, once the clock works again", l.read(t)[accepted(throttle.High)], 5)
}

// TestAClockThatPanicsDoesNotSpoilClose nor lose what was counted, if it works again in time.
func TestAClockThatPanicsDoesNotSpoilClose(t *testing.T) {
	newErrorLog(t)
	l, clock := newLab(t, setup{}), &brokenClock{}
	th := clock.throttle(l, "db")
	l.throttle(t, throttle.Config{Name: "db"})
	times(2, th, throttle.High, nil)
	clock.broken = true
	if got := survive(func() { _ = th.Close() }); got != nil {
		t.Errorf("Close: got panic %v want none", got)
	}
	if n, told := l.read(t)[accepted(throttle.High)]; told {
		t.Errorf("accepted, with a closed throttle that cannot be read: got %v want no series", n)
	}
	clock.broken = false
	for range 2 {
		equal(t, "accepted, once the clock works again", l.read(t)[accepted(throttle.High)], 2)
	}
}
