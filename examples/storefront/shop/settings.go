package shop

import (
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
)

// Health is the state of a backend.
type Health uint8

const (
	// Up is a backend with all of its capacity.
	Up Health = iota
	// Brownout is a backend that has lost three quarters of its capacity.
	Brownout
	// Slow is a backend whose calls take ten times as long, so that it can serve a tenth of them. It
	// has a long queue and rejects no call.
	Slow
	// Down is a backend that rejects every call.
	Down
)

// remaining returns the share of the capacity that a backend has in this health.
func (h Health) remaining() float64 {
	return [...]float64{Up: 1, Brownout: 0.25, Slow: 1. / slowdown, Down: 0}[h]
}

// String returns "up", "brownout", "slow" or "down".
func (h Health) String() string {
	if names := [...]string{Up: "up", Brownout: "brownout", Slow: "slow", Down: "down"}; int(h) < len(names) {
		return names[h]
	}
	return fmt.Sprintf("health(%d)", uint8(h))
}

// MarshalText returns String.
func (h Health) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText sets the health with a name. It returns an error for any text that is not the String of a
// Health.
func (h *Health) UnmarshalText(word []byte) error {
	for known := range Down + 1 {
		if known.String() == string(word) {
			*h = known
			return nil
		}
	}
	return fmt.Errorf("backend is %q: want up, brownout, slow or down", word)
}

// Switch is whether the throttle is on.
type Switch bool

// String returns "on" or "off".
func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}

// MarshalText returns String.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "on" or "off".
func (s *Switch) UnmarshalText(word []byte) error {
	*s = string(word) == "on"
	if s.String() != string(word) {
		return fmt.Errorf("throttle is %q: want on or off", word)
	}
	return nil
}

// The bounds of Settings.
const (
	MaxLoad     = 10
	MinCapacity = 50
	MaxCapacity = 2000
)

// Settings can be changed while the shop runs. In JSON they have the names that the flags and the page use.
type Settings struct {
	Load      float64         `json:"load"`     // calls of all visitors, as a multiple of Capacity
	Capacity  float64         `json:"capacity"` // calls per second that the healthy backend can serve
	Backend   Health          `json:"backend"`
	Throttled Switch          `json:"throttle"`
	Policy    throttle.Policy `json:"policy"`
}

// Calm returns settings without an overload: 80 % of the capacity, and the throttle on.
func Calm() Settings {
	return Settings{Load: 0.8, Capacity: 400, Throttled: true, Policy: throttle.Tiered}
}

// Validate returns an error that names each field that is out of range, with its value and its
// range.
func (s Settings) Validate() error {
	var errs []error
	if !(s.Load >= 0 && s.Load <= MaxLoad) { // also true for NaN
		errs = append(errs, fmt.Errorf("load is %v: want 0 to %d times the capacity", s.Load, MaxLoad))
	}
	if !(s.Capacity >= MinCapacity && s.Capacity <= MaxCapacity) {
		errs = append(errs, fmt.Errorf("capacity is %v: want %d to %d calls per second", s.Capacity, MinCapacity, MaxCapacity))
	}
	if s.Backend > Down {
		errs = append(errs, fmt.Errorf("backend is %v: want up, brownout, slow or down", s.Backend))
	}
	if _, err := s.Policy.MarshalText(); err != nil {
		errs = append(errs, fmt.Errorf("policy is %v: want tiered or sre", s.Policy))
	}
	return errors.Join(errs...)
}

// Offered returns the calls per second of all visitors.
func (s Settings) Offered() float64 { return s.Load * s.Capacity }

// Available returns the calls per second that the backend can serve in its current health.
func (s Settings) Available() float64 { return s.Capacity * s.Backend.remaining() }
