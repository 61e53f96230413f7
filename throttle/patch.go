package throttle

import (
	"reflect"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Patch is a change of settings at run time: nil changes nothing. The fields mean the same as in
// [Config], but 0 is not replaced by a default.
//
//	err := th.Tune(throttle.Patch{Mode: new(throttle.ModeOff), Ratio: new(3.0)})
type Patch struct {
	Mode          *Mode     `json:"mode,omitempty"`
	Ratio         *float64  `json:"ratio,omitempty"`
	MinimumRate   *float64  `json:"minimum_rate,omitempty"`
	Background    *float64  `json:"background,omitempty"`
	Slow          *Duration `json:"slow,omitempty"`
	SlowGate      *Mode     `json:"slow_gate,omitempty"`
	SlowAuto      *bool     `json:"slow_auto,omitempty"`
	ProcessorWait *Duration `json:"processor_wait,omitempty"`
	CanceledAfter *Duration `json:"canceled_after,omitempty"`
}

// Validate returns an error that names each field that is out of range, its value and its range. A
// Patch without error can be applied to every throttle.
func (p Patch) Validate() error {
	_, err := Tuning{Ratio: defaultRatio, MinimumRate: defaultMinimumRate}.With(p)
	return err
}

// With returns the settings after p, or the error of [Patch.Validate].
func (u Tuning) With(p Patch) (Tuning, error) {
	after := u
	tuned.Set(&after.Mode, p.Mode)
	tuned.Set(&after.Ratio, p.Ratio)
	tuned.Set(&after.MinimumRate, p.MinimumRate)
	tuned.Set(&after.Background, p.Background)
	tuned.Set(&after.Slow, (*time.Duration)(p.Slow))
	tuned.Set(&after.SlowGate, p.SlowGate)
	tuned.Set(&after.SlowAuto, p.SlowAuto)
	tuned.Set(&after.ProcessorWait, (*time.Duration)(p.ProcessorWait))
	tuned.Set(&after.CanceledAfter, (*time.Duration)(p.CanceledAfter))
	e := check.Errors{Owner: "throttle: Patch"}
	after.validate(&e)
	if err := e.Err(); err != nil {
		return u, err
	}
	return after, nil
}

// then returns p with the fields that later sets. It copies them, so that their owner can change them.
func (p Patch) then(later Patch) Patch {
	all, set := reflect.ValueOf(&p).Elem(), reflect.ValueOf(later)
	for i := range set.NumField() {
		if field := set.Field(i); !field.IsNil() {
			value := reflect.New(field.Type().Elem())
			value.Elem().Set(field.Elem())
			all.Field(i).Set(value)
		}
	}
	return p
}
