package main

import (
	"encoding/json"
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

// maxControlSize is the largest body that is read. A change of all settings takes about 100 bytes.
const maxControlSize = 4 << 10

// change is the body of a request. A nil field leaves its setting as it is.
type change struct {
	Load     *float64         `json:"load"`
	Capacity *float64         `json:"capacity"`
	Backend  *shop.Health     `json:"backend"`
	Throttle *shop.Switch     `json:"throttle"`
	Policy   *throttle.Policy `json:"policy"`
}

// control is the handler of the page's controls. It makes the whole change, or none of it if a field is invalid, and
// answers with the settings that are in force then.
func (f *storefront) control(w http.ResponseWriter, r *http.Request) {
	var requested change
	var now shop.Settings
	err := page.ReadJSON(w, r, maxControlSize, &requested, (*json.Decoder).DisallowUnknownFields) // which are probably misspelt
	if err == nil {
		now, err = f.scenario.override(requested.apply, requested.Load != nil || requested.Backend != nil)
	}
	if err != nil {
		page.WriteError(w, err)
		return
	}
	page.WriteJSON(w, http.StatusOK, now)
}

// apply makes the change. The shop checks the numbers.
func (c change) apply(s *shop.Settings) {
	set(&s.Load, c.Load)
	set(&s.Capacity, c.Capacity)
	set(&s.Backend, c.Backend)
	set(&s.Throttled, c.Throttle)
	set(&s.Policy, c.Policy)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
