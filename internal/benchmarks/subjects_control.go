package main

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

const ourControlled = "allowed, settings overridden"

// controlled is an allowed call while an operator's settings are in force.
func controlled() *subject {
	ctl := throttle.Must(control.New(control.Config{}))
	c := throttle.Config{Policy: throttle.SRE, Hooks: ctl.ThrottleHooks()}
	s := healthy(ourControlled, throttle.High, c, func(t *throttle.Throttle) error { return t.Do(context.Background(), throttle.High, noop) })
	_ = throttle.Must(ctl.Apply(context.Background(), control.Document{Throttles: map[string]*control.Throttle{"bench": {Patch: throttle.Patch{Ratio: new(3.0)}}}}))
	return s
}
