package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// maxControlSize is far more than anybody needs to say what should change.
const maxControlSize = 4 << 10

// control changes the shop as its visitors want it.
type control struct {
	director *director
}

// wish is what a visitor wants to change; what is nil stays as it is.
type wish struct {
	Load     *float64 `json:"load"`
	Capacity *float64 `json:"capacity"`
	Backend  *string  `json:"backend"`
	Throttle *string  `json:"throttle"`
	Policy   *string  `json:"policy"`
}

// ServeHTTP changes everything that is wished for, or nothing if something is wrong with it, and answers with the settings that
// hold then.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxControlSize)
	wished, err := readWish(r)
	var change func(*shop.Settings)
	if err == nil {
		change, err = wished.change()
	}
	var now shop.Settings
	if err == nil {
		now, err = c.director.yield(change, wished.Load != nil || wished.Backend != nil)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, now)
}

// readWish reads JSON or a form. Fields that do not exist are an error: they are misspelt.
func readWish(r *http.Request) (wish, error) {
	var wished wish
	switch mediaTypeOf(r) {
	case "application/json":
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		return wished, readJSON(decoder, &wished)
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return wished, fmt.Errorf("storefront: no form that can be understood: %w", err)
		}
		return formWish(r.PostForm)
	}
	return wished, fmt.Errorf("%w: send application/json or application/x-www-form-urlencoded", errMediaType)
}

// formWish reads the fields of a form.
func formWish(form url.Values) (wish, error) {
	var wished wish
	for name, values := range form {
		value, err := values[0], error(nil)
		switch name {
		case "load":
			wished.Load, err = formNumber(name, value)
		case "capacity":
			wished.Capacity, err = formNumber(name, value)
		case "backend":
			wished.Backend = &value
		case "throttle":
			wished.Throttle = &value
		case "policy":
			wished.Policy = &value
		default:
			err = fmt.Errorf("storefront: unknown field %q: want load, capacity, backend, throttle or policy", name)
		}
		if err == nil && len(values) > 1 {
			err = fmt.Errorf("storefront: %s is there %d times", name, len(values))
		}
		if err != nil {
			return wished, err
		}
	}
	return wished, nil
}

func formNumber(name, value string) (*float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return nil, fmt.Errorf("storefront: %s is %q: want a number", name, value)
	}
	return &x, nil
}

// change returns the wish as a change of settings, or what is wrong with its words. The shop knows what is wrong with its numbers.
func (w wish) change() (func(*shop.Settings), error) {
	var changes []func(*shop.Settings)
	add := func(change func(*shop.Settings)) { changes = append(changes, change) }
	if w.Load != nil {
		add(func(s *shop.Settings) { s.Load = *w.Load })
	}
	if w.Capacity != nil {
		add(func(s *shop.Settings) { s.Capacity = *w.Capacity })
	}
	if w.Backend != nil {
		health, ok := shop.ParseHealth(*w.Backend)
		if !ok {
			return nil, fmt.Errorf("storefront: backend is %q: want up, brownout or down", *w.Backend)
		}
		add(func(s *shop.Settings) { s.Backend = health })
	}
	if w.Throttle != nil {
		if *w.Throttle != "on" && *w.Throttle != "off" {
			return nil, fmt.Errorf("storefront: throttle is %q: want on or off", *w.Throttle)
		}
		add(func(s *shop.Settings) { s.Throttled = *w.Throttle == "on" })
	}
	if w.Policy != nil {
		policy, err := parsePolicy(*w.Policy)
		if err != nil {
			return nil, fmt.Errorf("storefront: policy is %q: %w", *w.Policy, err)
		}
		add(func(s *shop.Settings) { s.Policy = policy })
	}
	return func(s *shop.Settings) {
		for _, change := range changes {
			change(s)
		}
	}, nil
}
