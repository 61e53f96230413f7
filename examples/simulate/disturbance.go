package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/examples/simulate/plot"
)

// spans returns the disturbances, each with what is wrong in it.
func spans(phases []overload.Phase) []plot.Span {
	var found []plot.Span
	var disturbed []overload.Phase
	begin, at := 0.0, 0.0
	for i, p := range phases {
		if p.Disturbed {
			disturbed = append(disturbed, p)
		}
		at += p.Length.Seconds()
		switch last := i == len(phases)-1 || !phases[i+1].Disturbed; {
		case !p.Disturbed:
			begin = at
		case last:
			found = append(found, plot.Span{Name: disturbance(disturbed), From: begin, To: at})
			disturbed, begin = nil, at
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
				add(&failing, looks()[priority].Name)
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

// length returns how long phases are together.
func length(phases []overload.Phase) time.Duration {
	sum := time.Duration(0)
	for _, p := range phases {
		sum += p.Length
	}
	return sum
}
