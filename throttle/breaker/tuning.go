package breaker

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Tuning holds the settings that a [Patch] changes. The fields mean the same as in [Config].
type Tuning struct {
	Mode throttle.Mode
}

// Patch is a change of settings at run time: nil changes nothing. The fields mean the same as in
// [Config].
type Patch struct {
	Mode *throttle.Mode `json:"mode,omitempty"`
}

// Validate returns an error if a field is out of range. A Patch without error can be applied to every
// Manager.
func (p Patch) Validate() error {
	_, err := Tuning{}.With(p)
	return err
}

// With returns the settings after p, or the error of [Patch.Validate].
func (u Tuning) With(p Patch) (Tuning, error) {
	after := u
	tuned.Set(&after.Mode, p.Mode)
	e := check.Errors{Owner: "breaker: Patch"}
	e.Want(after.Mode <= throttle.ModeOff, "Mode", uint8(after.Mode), "ModeEnforce, ModeShadow or ModeOff")
	if err := e.Err(); err != nil {
		return u, err
	}
	return after, nil
}

// Tune changes settings of the code at run time. If a value is out of range, it returns the error of
// [Patch.Validate] and changes nothing.
//
// ForTenant may return another Mode for a tenant. It receives the Mode of Tune.
func (m *Manager) Tune(p Patch) error {
	return m.retune(func() error { return m.tuning.Tune(p) })
}

// Override sets settings in place of those of the code, as [throttle.Throttle.Override] does. Its Mode
// also replaces that of each tenant. An empty Patch ends what the source has set. Package control
// calls it; most callers should use that.
func (m *Manager) Override(source throttle.Source, p Patch) error {
	return m.retune(func() error { return m.tuning.Override(int(source), p) })
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

func (m *Manager) retune(change func() error) error {
	if !m.valid() {
		return errNil
	}
	if err := change(); err != nil {
		return err
	}
	m.publish()
	if m.memory != nil || m.lazy.timer.Load() == nil { // NotRunning is reported once
		m.lazy.wanted.Store(true) // there are no rounds in ModeOff
	}
	return nil
}

// tenants caches the settings of tenants for one round.
type tenants struct {
	manager *Manager
	own     *Config // the manager's settings
	cached  map[string]*Config
}

func (m *Manager) tenants() *tenants {
	own := m.config
	own.Mode = m.tuning.Load().Mode
	return &tenants{manager: m, own: &own}
}

func (t *tenants) settings(tenant string) *Config {
	m := t.manager
	if m.config.ForTenant == nil {
		return t.own
	}
	if c, ok := t.cached[tenant]; ok {
		return c
	}
	c, err := m.tenantSettings(tenant)
	if err != nil {
		m.fail(SettingsInvalid, fmt.Errorf("breaker: tenant %s: %w", check.Shown(tenant), err))
		c = t.own
	}
	if t.cached == nil {
		t.cached = map[string]*Config{}
	}
	t.cached[tenant] = c
	return c
}

// tenantSettings calls ForTenant and returns the manager's Config with the fields that a tenant may
// set. ForTenant receives zero for durations whose defaults depend on what it may change.
func (m *Manager) tenantSettings(tenant string) (*Config, error) {
	base := m.config
	base.Mode = m.tuning.State().Code.Mode
	base.MaxBreakerTimeout, base.ConsecutiveResetAfter, base.HalfOpenMax = m.given.MaxBreakerTimeout, m.given.ConsecutiveResetAfter, m.given.HalfOpenMax
	var given Config
	if err := recovered(func() { given = m.config.ForTenant(tenant, base) }); err != nil {
		return nil, fmt.Errorf("ForTenant: %w", err)
	}
	c := m.config
	c.BreakerTimeout, c.MaxBreakerTimeout, c.Jitter = given.BreakerTimeout, given.MaxBreakerTimeout, given.Jitter
	c.FailureThreshold, c.SuccessThreshold = given.FailureThreshold, given.SuccessThreshold
	c.MinimumRequestCount, c.MinReporters = given.MinimumRequestCount, given.MinReporters
	c.ConsecutiveFailureThreshold, c.ConsecutiveResetAfter = given.ConsecutiveFailureThreshold, given.ConsecutiveResetAfter
	c.HalfOpenProbes, c.HalfOpenMax, c.Mode = given.HalfOpenProbes, given.HalfOpenMax, given.Mode
	c = c.withCircuitDefaults()
	if m.given.SuccessThreshold == 0 && given.SuccessThreshold == m.config.SuccessThreshold {
		given.SuccessThreshold = 0 // filled in by the manager
	}
	v := newValidator(&given)
	c.validateCircuit(v)
	u, _ := m.tuning.State().With(Tuning{c.Mode}) // a Mode that is out of range is an error of v
	c.Mode = u.Mode
	return &c, v.Err()
}
