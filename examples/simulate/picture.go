package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// picture has rows of panels, with a common title and legend.
type picture struct {
	title  string
	texts  []string  // the lines below the title
	panels [][]panel // later rows may be shorter than the first one
}

// panel shows one scenario with one policy.
type panel struct {
	title   string
	seconds float64 // the end of the x axis
	spans   []span
	curves  []curve
}

// plottable reports whether a scenario has one case. A scenario with several cases cannot be
// plotted: a different priority fails in each case, so their mean has no meaning.
func plottable(s overload.Scenario) bool { return len(s.Cases) == 1 }

// unplottable lists the scenarios that cannot be plotted, with the reason. It returns "" if all can
// be.
func unplottable(scenarios []overload.Scenario) string {
	var names []string
	for _, s := range scenarios {
		if !plottable(s) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + ": a run has many cases, in which different priorities fail, so their mean has no meaning"
}

// maxColumns is the number of panels in a row that fit on a screen.
const maxColumns = 5

// pictureOf returns the picture of a report. Each scenario has one or more rows, with a panel per
// policy. The picture has no panels if no run is complete.
func pictureOf(r report) picture {
	p := picture{title: "Calls that succeed, by priority"}
	for _, scenario := range r.settings.scenarios {
		played := func(of result) bool { return of.scenario.Name == scenario.Name }
		if !plottable(scenario) || !slices.ContainsFunc(r.results, played) {
			continue
		}
		if len(scenario.Tenants) > 0 {
			p.title = "Calls that succeed, by tenant"
		}
		var panels []panel
		for _, policy := range r.settings.policies {
			panels = append(panels, panelOf(r, scenario, policy))
		}
		rows := (len(panels) + maxColumns - 1) / maxColumns
		p.panels = slices.AppendSeq(p.panels, slices.Chunk(panels, (len(panels)+rows-1)/rows))
	}
	if s := r.settings.scenarios; len(s) == 1 {
		p.texts = append(p.texts, s[0].Name+": "+s[0].Title)
	}
	seeds := r.seeds()
	if r.mostSeeds() > 1 {
		seeds = "mean of " + seeds
	}
	p.texts = append(p.texts, fmt.Sprintf(
		"Share of the calls offered that succeed, second by second (%s, smoothed over %d s). Shaded: the disturbance.", seeds, smoothing))
	if changed := changes(r.settings.options); changed != "" {
		p.texts = append(p.texts, changed)
	}
	return p
}

// panelOf returns the panel of a scenario with a policy. It has no curves if no run is complete.
func panelOf(r report, scenario overload.Scenario, policy overload.Policy) panel {
	phases := scenario.Cases[0].Phases
	p := panel{title: scenario.Name + " · " + policy.Name, spans: spans(phases)}
	for _, phase := range phases {
		p.seconds += phase.Length.Seconds()
	}
	if of, found := r.find(scenario.Name, policy.Name); found {
		p.curves = curves(of)
	} else {
		p.title += " (no run)"
	}
	return p
}

// span is a shaded part of the x axis: a disturbance, with its description.
type span struct {
	name     string
	from, to float64
}

// spans returns the disturbances. Consecutive disturbed phases are one span.
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

// disturbance describes the load, the capacity and the failing priorities of a span.
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
