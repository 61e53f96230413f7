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

func TestAPhaseUndoesTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-load 0.5")
		f.scenario.scenario = scenario{"mixed", []phase{{time.Second, 4, shop.Up}, {time.Second, 0, shop.Down}, {0, 0, shop.Brownout}}}
		go f.scenario.run(t.Context())
		for i, want := range []at{{0, 4, shop.Up}, {0, 0.5, shop.Down}, {0, 0.5, shop.Brownout}, {0, 0.5, shop.Brownout}} {
			synctest.Wait()
			if got := f.shop.Settings(); got.Load != want.load || got.Backend != want.backend {
				t.Errorf("phase %d: got load %v, backend %v want %v, %v", i, got.Load, got.Backend, want.load, want.backend)
			}
			<-time.After(time.Second)
		}
		if begun, ok := f.scenario.disturbedSince(); !ok || time.Since(begun) != 4*time.Second {
			t.Errorf("disturbance: got it since %v, %v want since the first phase", begun, ok)
		}
	})
}

func TestCalmIsNoDisturbance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-scenario outage")
		go f.scenario.run(t.Context())
		<-time.After(4 * time.Second)
		if begun, ok := f.scenario.disturbedSince(); ok {
			t.Errorf("disturbance: got it since %v want none yet", begun)
		}
		<-time.After(time.Minute)
		if begun, ok := f.scenario.disturbedSince(); !ok || time.Since(begun) != 59*time.Second {
			t.Errorf("disturbance: got it since %v, %v want since the first outage", begun, ok)
		}
	})
}
