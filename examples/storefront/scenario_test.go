package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// at is the load and backend at some moment of a scenario.
type at struct {
	after   time.Duration
	load    float64
	backend shop.Health
}

func TestScenariosAreWhatTheUsageSays(t *testing.T) {
	const second, minute = time.Second, time.Minute
	calm := func(after time.Duration) at { return at{after, 0.8, shop.Up} }
	for name, want := range map[string][]at{
		"overload": {calm(2 * second), {4 * second, 4, shop.Up}, {time.Hour, 4, shop.Up}},
		"outage": {
			calm(4 * second),
			{6 * second, 0.8, shop.Down},
			{14 * second, 0.8, shop.Down},
			calm(16 * second),
			calm(34 * second),
			{36 * second, 0.8, shop.Down},
			calm(46 * second),
		},
		"brownout": {calm(4 * second), {6 * second, 0.8, shop.Brownout}, calm(16 * second), {36 * second, 0.8, shop.Brownout}},
		"slow": {
			calm(4 * second), {6 * second, 0.8, shop.Slow}, {19 * second, 0.8, shop.Slow}, calm(21 * second), {41 * second, 0.8, shop.Slow},
		},
		"tour": {
			calm(2*minute - second),
			{2*minute + second, 4, shop.Up},
			{7*minute - second, 4, shop.Up},
			calm(7*minute + second),
			calm(17*minute - second),
			{17*minute + second, 4, shop.Down},
			{21*minute - second, 4, shop.Down},
			calm(21*minute + second),
			{33*minute + second, 4, shop.Up},
		},
		"none": {calm(second), calm(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := build(t, "-scenario "+name)
				begun := time.Now()
				go f.scenario.run(t.Context())
				for _, w := range want {
					<-time.After(time.Until(begun.Add(w.after)))
					if got := f.shop.Settings(); got.Load != w.load || got.Backend != w.backend {
						t.Errorf("after %v: got load %v, backend %v want %v, %v", w.after, got.Load, got.Backend, w.load, w.backend)
					}
				}
			})
		})
	}
}
