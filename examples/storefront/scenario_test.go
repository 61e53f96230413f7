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
	for name, want := range map[string][]at{
		"overload": {{2 * second, 0.8, shop.Up}, {4 * second, 4, shop.Up}, {time.Hour, 4, shop.Up}},
		"outage": {
			{4 * second, 0.8, shop.Up},
			{6 * second, 0.8, shop.Down},
			{14 * second, 0.8, shop.Down},
			{16 * second, 0.8, shop.Up},
			{34 * second, 0.8, shop.Up},
			{36 * second, 0.8, shop.Down},
			{46 * second, 0.8, shop.Up},
		},
		"brownout": {
			{4 * second, 0.8, shop.Up}, {6 * second, 0.8, shop.Brownout}, {16 * second, 0.8, shop.Up}, {36 * second, 0.8, shop.Brownout},
		},
		"slow": {
			{4 * second, 0.8, shop.Up}, {6 * second, 0.8, shop.Slow}, {19 * second, 0.8, shop.Slow}, {21 * second, 0.8, shop.Up}, {41 * second, 0.8, shop.Slow},
		},
		"tour": {
			{2*minute - second, 0.8, shop.Up},
			{2*minute + second, 4, shop.Up},
			{7*minute - second, 4, shop.Up},
			{7*minute + second, 0.8, shop.Up},
			{17*minute - second, 0.8, shop.Up},
			{17*minute + second, 4, shop.Down},
			{21*minute - second, 4, shop.Down},
			{21*minute + second, 0.8, shop.Up},
			{33*minute + second, 4, shop.Up},
		},
		"none": {{second, 0.8, shop.Up}, {time.Hour, 0.8, shop.Up}},
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
