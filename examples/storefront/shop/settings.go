package shop

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
)

// The bounds of Settings.
const (
	MaxLoad     = 10
	MinCapacity = 50
	MaxCapacity = 2000
)

// Settings are what can be changed while the shop is open.
type Settings struct {
	Load      float64 // calls that visitors cause, as a multiple of Capacity
	Capacity  float64 // calls per second that the healthy backend can serve
	Backend   Health
	Throttled bool // the throttle is on
	Policy    throttle.Policy
}

// Calm returns the settings of a quiet day: the backend has something to spare, and a throttle.
func Calm() Settings {
	return Settings{Load: 0.8, Capacity: 400, Throttled: true, Policy: throttle.Tiered}
}

// Validate returns an error that names each field that is out of range, with its value and its range.
func (s Settings) Validate() error {
	var errs []error
	if !(s.Load >= 0 && s.Load <= MaxLoad) { // which no NaN is
		errs = append(errs, fmt.Errorf("load is %v: want 0 to %d times the capacity", s.Load, MaxLoad))
	}
	if !(s.Capacity >= MinCapacity && s.Capacity <= MaxCapacity) {
		errs = append(errs, fmt.Errorf("capacity is %v: want %d to %d calls per second", s.Capacity, MinCapacity, MaxCapacity))
	}
	if s.Backend > Down {
		errs = append(errs, fmt.Errorf("backend is %v: want up, brownout or down", s.Backend))
	}
	if s.Policy > throttle.Tiered {
		errs = append(errs, fmt.Errorf("policy is %v: want sre or tiered", s.Policy))
	}
	return errors.Join(errs...)
}

// Offered returns the calls per second that visitors cause.
func (s Settings) Offered() float64 { return s.Load * s.Capacity }

// Available returns the calls per second that the backend can serve in its present health.
func (s Settings) Available() float64 { return s.Capacity * s.Backend.factor() }

// MarshalJSON returns the settings in the words that people use.
func (s Settings) MarshalJSON() ([]byte, error) {
	switched := "off"
	if s.Throttled {
		switched = "on"
	}
	return json.Marshal(struct {
		Load     float64 `json:"load"`
		Capacity float64 `json:"capacity"`
		Backend  string  `json:"backend"`
		Throttle string  `json:"throttle"`
		Policy   string  `json:"policy"`
	}{s.Load, s.Capacity, s.Backend.String(), switched, s.Policy.String()})
}
