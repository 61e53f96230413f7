package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// at is what the director has done at some moment of a scenario.
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
		"tour": {
			{2*minute - second, 0.8, shop.Up},
			{2*minute + second, 4, shop.Up},
			{7*minute - second, 4, shop.Up},
			{7*minute + second, 0.8, shop.Up},
			{17*minute - second, 0.8, shop.Up},
			{17*minute + second, 4, shop.Down},
			{21*minute - second, 4, shop.Down},
			{21*minute + second, 0.8, shop.Up},
			{33*minute - second, 0.8, shop.Up},
			{33*minute + second, 4, shop.Up},
		},
		"none": {{second, 0.8, shop.Up}, {time.Hour, 0.8, shop.Up}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := build(t, "-scenario "+name)
				begun := time.Now()
				go f.director.play(t.Context())
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

func TestAnActEndsWhatTheOneBeforeHasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-load 0.5")
		f.director.scenario = scenario{"mixed", []act{overload(time.Second), outage(time.Second), brownout(0)}}
		go f.director.play(t.Context())
		for i, want := range []at{{0, 4, shop.Up}, {0, 0.5, shop.Down}, {0, 0.5, shop.Brownout}, {0, 0.5, shop.Brownout}} {
			synctest.Wait()
			if got := f.shop.Settings(); got.Load != want.load || got.Backend != want.backend {
				t.Errorf("act %d: got load %v, backend %v want %v, %v", i, got.Load, got.Backend, want.load, want.backend)
			}
			<-time.After(time.Second)
		}
		if begun, ok := f.director.troubleSince(); !ok || time.Since(begun) != 4*time.Second {
			t.Errorf("trouble: got it since %v, %v want since the first act", begun, ok)
		}
	})
}

func TestCalmIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-scenario outage")
		go f.director.play(t.Context())
		<-time.After(4 * time.Second)
		if begun, ok := f.director.troubleSince(); ok {
			t.Errorf("trouble: got it since %v want none yet", begun)
		}
		<-time.After(time.Minute)
		if begun, ok := f.director.troubleSince(); !ok || time.Since(begun) != 59*time.Second {
			t.Errorf("trouble: got it since %v, %v want since the first outage", begun, ok)
		}
	})
}
