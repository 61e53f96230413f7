package breaker

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// withSpansOf returns a copy whose spans that follow from others are as they were given: zero, if they are to follow.
func (c Config) withSpansOf(given Config) Config {
	c.MaxBreakerTimeout = given.MaxBreakerTimeout
	c.ConsecutiveResetAfter = given.ConsecutiveResetAfter
	c.HalfOpenMax = given.HalfOpenMax
	return c
}

// tenants remembers the settings of tenants for the length of one round, so that each is asked for once.
type tenants struct {
	manager *Manager
	cached  map[string]*Config
}

func (m *Manager) tenants() *tenants { return &tenants{manager: m} }

// settings returns the settings that hold for a tenant.
func (t *tenants) settings(tenant string) *Config {
	m := t.manager
	if m.config.ForTenant == nil {
		return &m.config
	}
	if c, ok := t.cached[tenant]; ok {
		return c
	}
	c, err := m.tenantSettings(tenant)
	if err != nil {
		m.fail(SettingsInvalid, fmt.Errorf("breaker: tenant %s: %w", check.Shown(tenant), err))
		c = &m.config
	}
	if t.cached == nil {
		t.cached = map[string]*Config{}
	}
	t.cached[tenant] = c
	return c
}

// askTenant asks for a tenant's settings, and takes from the answer what a tenant can have of its own.
func (m *Manager) tenantSettings(tenant string) (settings *Config, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("ForTenant panicked: %v", r)
		}
	}()
	given := m.config.ForTenant(tenant, m.tenantBase)
	own := given.withCircuitDefaultsOf(&m.config)
	c := m.config
	c.BreakerTimeout, c.MaxBreakerTimeout, c.Jitter = own.BreakerTimeout, own.MaxBreakerTimeout, own.Jitter
	c.FailureThreshold, c.SuccessThreshold = own.FailureThreshold, own.SuccessThreshold
	c.MinimumRequestCount, c.MinReporters = own.MinimumRequestCount, own.MinReporters
	c.ConsecutiveFailureThreshold, c.ConsecutiveResetAfter = own.ConsecutiveFailureThreshold, own.ConsecutiveResetAfter
	c.HalfOpenProbes, c.HalfOpenMax, c.Mode = own.HalfOpenProbes, own.HalfOpenMax, own.Mode
	if m.given.SuccessThreshold == 0 && given.SuccessThreshold == m.config.SuccessThreshold {
		given.SuccessThreshold = 0 // the default, which the manager has filled in
	}
	v := newValidator(&given)
	c.validateCircuit(v)
	return &c, v.Err()
}

// withCircuitDefaultsOf fills in what a tenant left out, given the manager's SampleRate.
func (c Config) withCircuitDefaultsOf(manager *Config) Config {
	c.SampleRate, c.ObservabilityWindow = manager.SampleRate, manager.ObservabilityWindow
	return c.withCircuitDefaults()
}
