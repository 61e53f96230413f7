package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// A span is a part of the x axis that is shaded: a disturbance, and what is wrong in it.
type span struct {
	name     string
	from, to float64
}

// spans returns the disturbances. Disturbed phases that follow each other are one.
func spans(phases []overload.Phase) []span {
	var found []span
	var disturbed []overload.Phase
	begin, at := 0.0, 0.0
	for i, p := range phases {
		at += p.Length.Seconds()
		if p.Disturbed {
			disturbed = append(disturbed, p)
		} else {
			begin = at
		}
		if p.Disturbed && (i == len(phases)-1 || !phases[i+1].Disturbed) {
			found = append(found, span{disturbance(disturbed), begin, at})
			disturbed = nil
		}
	}
	return found
}

// disturbance says in a few words what is wrong.
func disturbance(phases []overload.Phase) string {
	var loads, capacities, failing []string
	overloaded := false
	add := func(to *[]string, text string) {
		if !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, p := range phases {
		load := 0.0
		for priority, share := range p.Load {
			load += share
			if p.Failing[priority] > 0 {
				add(&failing, looks()[priority].name)
			}
		}
		overloaded = overloaded || load > 1
		add(&loads, fmt.Sprintf("%.3g", load))
		if p.Capacity < 1 {
			add(&capacities, fmt.Sprintf("%.3g %%", 100*p.Capacity))
		}
	}
	var parts []string
	if overloaded {
		parts = append(parts, "load "+strings.Join(loads, " and ")+" × capacity")
	}
	if len(capacities) > 0 {
		parts = append(parts, "capacity "+strings.Join(capacities, " and "))
	}
	if len(failing) > 0 {
		parts = append(parts, strings.Join(failing, " and ")+" fails for its own reason")
	}
	if len(parts) == 0 {
		return "disturbance"
	}
	return strings.Join(parts, ", ")
}
