package breaker

import (
	"errors"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

var errNoChange = errors.New("breaker: Manager.Tune: change is nil: want a function that sets fields of the Tuning")

// Tuning holds the settings that [Manager.Tune] changes. The fields mean the same as in [Config].
type Tuning struct {
	Mode throttle.Mode
}

// Tune changes settings at run time. It calls change with the settings of the code, validates the
// result and applies it. If a value is out of range, it returns an error and changes nothing. It
// may call change again if another Tune runs at the same time.
//
// ForTenant may return another Mode for a tenant. It receives the Mode of Tune.
func (m *Manager) Tune(change func(*Tuning)) error {
	if change == nil {
		return errNoChange
	}
	return m.retune(func() error { return m.tuning.Tune(change) })
}

// Override sets settings in place of those of the code, such as those of an operator during an
// incident. Its Mode also replaces that of each tenant. Change is applied to the settings of the
// code now and after each Tune, so that it must set fields to fixed values. Nil ends the override.
// A later Override replaces an earlier one. Package control calls it; most callers should use that.
func (m *Manager) Override(change func(*Tuning)) error {
	return m.retune(func() error { return m.tuning.Override(change) })
}

// CheckOverride returns the error that [Manager.Override] would return for change, and changes
// nothing.
func (m *Manager) CheckOverride(change func(*Tuning)) error {
	if !m.valid() {
		return errNil
	}
	return m.tuning.Check(nil, change)
}

// Tuning returns the settings in force, and those of the code. They differ if an [Manager.Override]
// is in force.
func (m *Manager) Tuning() (inForce, code Tuning) {
	if !m.valid() {
		return inForce, code
	}
	s := m.tuning.State()
	return s.Now, s.Code
}

// retune changes settings and applies them to all circuits.
func (m *Manager) retune(change func() error) error {
	if !m.valid() {
		return errNil
	}
	if err := change(); err != nil {
		return err
	}
	m.publish()
	m.lazy.wanted.Store(true) // there are no rounds in ModeOff
	return nil
}

func checkTuning(u *Tuning) error {
	e := check.Errors{Owner: "breaker: Tuning"}
	e.Want(u.Mode <= throttle.ModeOff, "Mode", uint8(u.Mode), "ModeEnforce, ModeShadow or ModeOff")
	return e.Err()
}

// mode returns the Mode in force for circuits whose tenant has no other.
func (m *Manager) mode() throttle.Mode { return m.tuning.Load().Mode }

// settings returns the Config with the Mode in force.
func (m *Manager) settings() *Config {
	mode := m.mode()
	if mode == m.config.Mode {
		return &m.config
	}
	c := m.config
	c.Mode = mode
	return &c
}

// tenantMode returns the Mode of a tenant for which ForTenant has returned own.
func (m *Manager) tenantMode(own throttle.Mode) throttle.Mode {
	u := Tuning{own}
	m.tuning.State().Apply(&u)
	return u.Mode
}
