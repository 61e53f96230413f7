package main

import (
	"fmt"
	"slices"
)

// quantity is something that a child needs.
type quantity struct {
	name  string
	unit  string
	of    func(sample) float64
	slack float64 // how much more is nothing
	plain bool    // it says something only without the race detector
}

// mebi is a MiB.
const mebi = 1 << 20

// growth is how much larger the median of the last third may be than that of the middle third.
const growth = 1.10

// fewestSamples is how many are needed to judge: with fewer than five in a third one odd moment is a fifth of it.
const fewestSamples = 15

// quantities are all that must be flat. A tenth more is what two thirds of one story differ by. The slack is for small numbers, of which
// a tenth is nothing: the runtime asks for four MiB at a time, viewers are just there, circuits happen to be open.
//
// The race detector has memory of its own, which only it counts and which grows for as long as a program runs (golang/go#26813 and
// #37233). So what the system says of memory is judged without it only. With it there is still what the runtime has of the system.
func quantities() []quantity {
	return []quantity{
		{"RSS", "MiB", func(s sample) float64 { return s.rss / mebi }, 4, true},
		{"runtime", "MiB", func(s sample) float64 { return s.sys / mebi }, 5, false},
		{"heap", "MiB", func(s sample) float64 { return s.heap / mebi }, 2, false},
		{"goroutines", "", func(s sample) float64 { return s.goroutines }, 8, false},
		{"series", "", func(s sample) float64 { return s.series }, 10, false},
		{"fds", "", func(s sample) float64 { return s.fds }, 5, false},
	}
}

// thirds are the medians of a quantity in the three parts of a run.
type thirds struct {
	first, middle, last, most float64
}

// thirdsOf cuts a run into three parts. Everything warms up in the first, so that it says nothing. Medians do not mind moments: a
// collection that is due, an overload, a part of a third in which the machine was busy with others.
func thirdsOf(values []float64) thirds {
	n := len(values)
	if n < 3 {
		return thirds{}
	}
	return thirds{median(values[:n/3]), median(values[n/3 : 2*n/3]), median(values[2*n/3:]), slices.Max(values)}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// bound is what the last third may be.
func (t thirds) bound(slack float64) float64 { return growth*t.middle + slack }

// grown returns a complaint for every quantity that has grown, or one if there is too little to say.
func grown(samples []sample, race bool) []string {
	if len(samples) < fewestSamples {
		return []string{fmt.Sprintf("%d samples are too few to say whether anything has grown: want %d", len(samples), fewestSamples)}
	}
	var complaints []string
	for _, q := range quantities() {
		if race && q.plain {
			continue
		}
		t := thirdsOf(valuesOf(samples, q))
		if most := t.bound(q.slack); t.last > most {
			complaints = append(complaints, fmt.Sprintf("%s grew: the median of the last third is %.1f, that of the middle one %.1f, and %.1f would do",
				q.name, t.last, t.middle, most))
		}
	}
	return complaints
}

func valuesOf(samples []sample, q quantity) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = q.of(s)
	}
	return values
}
