package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// A picture is one page: rows of panels, with a title and a legend for all of them.
type picture struct {
	title  string
	texts  []string  // the lines below the title
	panels [][]panel // a row may be shorter than the first one
}

// A panel shows one scenario with one policy.
type panel struct {
	title   string
	seconds float64 // the end of the x axis
	spans   []span
	curves  []curve
}

// plottable reports whether a scenario has one course of events. In the others different priorities
// fail, and their mean is no course of events.
func plottable(s overload.Scenario) bool { return len(s.Cases) == 1 }

// unplottable lists the scenarios that cannot be plotted, and says why; it is empty if there are
// none.
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
	return strings.Join(names, ", ") + ": a run has many cases, in which different priorities fail, and their mean would tell nothing"
}

// mostColumns is how many panels are side by side: more would be too narrow for a screen.
const mostColumns = 5

// pictureOf returns the picture of a report: for every scenario a row or several, with a panel for
// every policy. It has no panels if no run is complete.
func pictureOf(r report) picture {
	p := picture{title: "Calls that succeed, by priority"}
	for _, scenario := range r.settings.scenarios {
		played := func(of result) bool { return of.scenario.Name == scenario.Name }
		if !plottable(scenario) || !slices.ContainsFunc(r.results, played) {
			continue
		}
		var panels []panel
		for _, policy := range r.settings.policies {
			panels = append(panels, panelOf(r, scenario, policy))
		}
		rows := (len(panels) + mostColumns - 1) / mostColumns
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

// panelOf returns the panel of a scenario with a policy. It has no curves if Ctrl-C came before a
// run was complete.
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
