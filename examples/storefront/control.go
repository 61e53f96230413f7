package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// maxControlSize is the largest body that is read. A change of all settings takes about 100 bytes.
const maxControlSize = 4 << 10

// control is the handler of the page's controls. It changes the shop's settings.
type control struct {
	scenario *scenarioPlayer
}

// change is the body of a request. A nil field leaves its setting as it is.
type change struct {
	Load     *float64 `json:"load"`
	Capacity *float64 `json:"capacity"`
	Backend  *string  `json:"backend"`
	Throttle *string  `json:"throttle"`
	Policy   *string  `json:"policy"`
}

// ServeHTTP makes the whole change, or none of it if a field is invalid. It answers with the
// settings that are in force then.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxControlSize)
	var requested change
	err := readJSON(r, &requested, (*json.Decoder).DisallowUnknownFields) // which are probably misspelt
	var apply func(*shop.Settings)
	if err == nil {
		apply, err = requested.parse()
	}
	var now shop.Settings
	if err == nil {
		now, err = c.scenario.override(apply, requested.Load != nil || requested.Backend != nil)
	}
	if err != nil {
		writeError(w, err)
		return
	}
	page.WriteJSON(w, http.StatusOK, now)
}

// parse returns a function that applies the change. Its error is about an unknown word; the shop
// checks the numbers.
func (c change) parse() (func(*shop.Settings), error) {
	var changes []func(*shop.Settings)
	add := func(change func(*shop.Settings)) { changes = append(changes, change) }
	if c.Load != nil {
		add(func(s *shop.Settings) { s.Load = *c.Load })
	}
	if c.Capacity != nil {
		add(func(s *shop.Settings) { s.Capacity = *c.Capacity })
	}
	if c.Backend != nil {
		health, err := shop.ParseHealth(*c.Backend)
		if err != nil {
			return nil, fmt.Errorf("storefront: backend is %q: %w", *c.Backend, err)
		}
		add(func(s *shop.Settings) { s.Backend = health })
	}
	if c.Throttle != nil {
		if *c.Throttle != "on" && *c.Throttle != "off" {
			return nil, fmt.Errorf("storefront: throttle is %q: want on or off", *c.Throttle)
		}
		add(func(s *shop.Settings) { s.Throttled = *c.Throttle == "on" })
	}
	if c.Policy != nil {
		policy, err := parsePolicy(*c.Policy)
		if err != nil {
			return nil, fmt.Errorf("storefront: policy is %q: %w", *c.Policy, err)
		}
		add(func(s *shop.Settings) { s.Policy = policy })
	}
	return func(s *shop.Settings) {
		for _, change := range changes {
			change(s)
		}
	}, nil
}
