package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/examples/simulate/plot"
)

// plottable reports whether a scenario has one course of events. The mean over several, in which different priorities fail, is
// a curve that nobody has seen.
func plottable(s overload.Scenario) bool { return len(s.Cases) == 1 }

// unplottable lists the scenarios that cannot be plotted, and says why; it is empty if there are none.
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

// mostColumns is how many panels stand side by side, so that they can be read on a screen.
const mostColumns = 5

// figureOf returns the picture of a report: for every scenario a row or several, with a panel for every policy.
func figureOf(r report) plot.Figure {
	f := plot.Figure{Title: "Calls that succeed, by priority", Subtitle: subtitle(r)}
	for _, scenario := range r.settings.scenarios {
		played := func(of result) bool { return of.scenario.Name == scenario.Name }
		if !plottable(scenario) || !slices.ContainsFunc(r.results, played) {
			continue
		}
		var panels []plot.Panel
		for _, policy := range r.settings.policies {
			panels = append(panels, panelOf(r, scenario, policy))
		}
		rows := (len(panels) + mostColumns - 1) / mostColumns
		f.Panels = slices.AppendSeq(f.Panels, slices.Chunk(panels, (len(panels)+rows-1)/rows))
	}
	if s := r.settings.scenarios; len(s) == 1 {
		f.Title += ": " + s[0].Title
	}
	return f
}

// subtitle says how to read the curves.
func subtitle(r report) string {
	seeds := r.seeds()
	if r.mostSeeds() > 1 {
		seeds = "mean of " + seeds
	}
	text := fmt.Sprintf("Share of the calls offered that succeed, second by second (%s, smoothed over %d s). Shaded: the disturbance.",
		seeds, smoothing)
	if changed := changes(r.settings.options); changed != "" {
		text += " " + changed
	}
	return text
}

// panelOf draws a scenario with a policy. After Ctrl-C there may be nothing to draw.
func panelOf(r report, scenario overload.Scenario, policy overload.Policy) plot.Panel {
	p := plot.Panel{
		Title:  scenario.Name + " · " + policy.Name,
		XLabel: "seconds",
		YLabel: "% of calls that succeed",
		Spans:  spans(scenario.Cases[0].Phases),
		XMax:   length(scenario.Cases[0].Phases).Seconds(),
	}
	if of, found := r.find(scenario.Name, policy.Name); found {
		p.Lines = lines(of)
	}
	return p
}
