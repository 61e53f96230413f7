package breaker

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// withSpansOf returns a copy in which durations that depend on others are as given: zero for their
// default.
func (c Config) withSpansOf(given Config) Config {
	c.MaxBreakerTimeout = given.MaxBreakerTimeout
	c.ConsecutiveResetAfter = given.ConsecutiveResetAfter
	c.HalfOpenMax = given.HalfOpenMax
	return c
}

// tenants caches the settings of tenants for one round.
type tenants struct {
	manager *Manager
	own     *Config // the manager's settings
	cached  map[string]*Config
}

func (m *Manager) tenants() *tenants { return &tenants{manager: m, own: m.settings()} }

// settings returns the settings of a tenant.
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
// set.
func (m *Manager) tenantSettings(tenant string) (settings *Config, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("ForTenant panicked: %v", r)
		}
	}()
	base := m.tenantBase
	base.Mode = m.tuning.State().Code.Mode
	given := m.config.ForTenant(tenant, base)
	own := given.withCircuitDefaultsOf(&m.config)
	c := m.config
	c.BreakerTimeout, c.MaxBreakerTimeout, c.Jitter = own.BreakerTimeout, own.MaxBreakerTimeout, own.Jitter
	c.FailureThreshold, c.SuccessThreshold = own.FailureThreshold, own.SuccessThreshold
	c.MinimumRequestCount, c.MinReporters = own.MinimumRequestCount, own.MinReporters
	c.ConsecutiveFailureThreshold, c.ConsecutiveResetAfter = own.ConsecutiveFailureThreshold, own.ConsecutiveResetAfter
	c.HalfOpenProbes, c.HalfOpenMax, c.Mode = own.HalfOpenProbes, own.HalfOpenMax, own.Mode
	if m.given.SuccessThreshold == 0 && given.SuccessThreshold == m.config.SuccessThreshold {
		given.SuccessThreshold = 0 // filled in by the manager
	}
	v := newValidator(&given)
	c.validateCircuit(v)
	c.Mode = m.tenantMode(c.Mode)
	return &c, v.Err()
}

// withCircuitDefaultsOf returns a copy with the defaults of a tenant's fields, for the manager's
// SampleRate and ObservabilityWindow.
func (c Config) withCircuitDefaultsOf(manager *Config) Config {
	c.SampleRate, c.ObservabilityWindow = manager.SampleRate, manager.ObservabilityWindow
	return c.withCircuitDefaults()
}
