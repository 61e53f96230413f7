package control

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// maxServices is the largest number of parts of a [Document].
const maxServices = 1000

// Service is a part of a [Document] for the processes that have some labels: one document for a fleet. As JSON:
//
//	{
//	  "throttles": {"stock": {"mode": "shadow", "optional": true}},
//	  "services": [
//	    {"match": {"service": "shop"}, "throttles": {"stock": {"ratio": 3}}},
//	    {"match": {"service": "shop", "cluster": "eu"}, "throttles": {"stock": {"mode": "off", "reason": "INC-7"}}}
//	  ]
//	}
//
// A line of a part replaces the whole line of the same name in the document and in the parts before it. A process that a part
// is not for ignores its names, but checks its form.
type Service struct {
	// Match has labels of [Config].Labels and the values that all of them must have. A label that the process does not have
	// is an error: it may be a typing error.
	Match map[string]string `json:"match"`
	Document
}

// checkServices returns what is wrong with the parts of a document, also those for other processes.
func (d *Document) checkServices() error {
	if n := len(d.Services); n > maxServices {
		return fmt.Errorf("control: services has %d parts: want at most %d", n, maxServices)
	}
	for i, s := range d.Services {
		switch err := checkLabels(s.Match); {
		case err != nil:
			return fmt.Errorf("control: services[%d].match: %w", i, err)
		case len(s.Match) == 0:
			return fmt.Errorf("control: services[%d].match is missing: want labels, such as {\"service\": \"shop\"}", i)
		case len(s.Services) > 0:
			return fmt.Errorf("control: services[%d].services: a part has no parts", i)
		}
	}
	return nil
}

// checkLabels returns an error for names and values that no label has.
func checkLabels(labels map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := errors.Join(checkName(name), checkName(labels[name])); err != nil {
			return fmt.Errorf("label %s: %w", check.Shown(name), err)
		}
	}
	return nil
}

// choose leaves the lines for this process, and completes them.
func (c *Control) choose(d *Document, source throttle.Source, now time.Time) error {
	errs := []error{d.checkServices(), c.prepare(d, source, now)}
	for i, s := range d.Services {
		applies, err := c.matches(s.Match)
		part := s.Document
		if err = errors.Join(err, c.prepare(&part, source, now)); err != nil {
			errs = append(errs, fmt.Errorf("control: services[%d]: %w", i, err))
		}
		if applies && err == nil {
			for _, k := range c.families {
				k.merge(d, &part)
			}
		}
	}
	d.Services = nil
	return errors.Join(errs...)
}

// matches reports whether this process has all labels with these values.
func (c *Control) matches(labels map[string]string) (bool, error) {
	all := true
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value, ok := c.labels[name]
		if !ok {
			return false, fmt.Errorf("match: Config.Labels has no %s: it has %q", check.Shown(name), slices.Sorted(maps.Keys(c.labels)))
		}
		all = all && value == labels[name]
	}
	return all, nil
}
