package main

import (
	"math"
	"strconv"
)

// A column is one figure, as people read it.
type column struct {
	header string
	figure string // its name in overload.FigureNames
	scale  float64
	digits int // after the point
	worst  bool
}

// columns returns what is told of every run.
func columns() []column {
	return []column{
		{header: "goodput %", figure: "goodput", scale: 100, digits: 1},
		{header: "High %", figure: "success_high", scale: 100, digits: 1},
		{header: "Important %", figure: "success_important", scale: 100, digits: 1},
		{header: "Medium %", figure: "success_medium", scale: 100, digits: 1},
		{header: "Low %", figure: "success_low", scale: 100, digits: 1},
		{header: "sent/C", figure: "sent", scale: 1, digits: 2},
		{header: "waste %", figure: "waste", scale: 100, digits: 1},
		{header: "to shed s", figure: "time_to_shed", scale: 1, digits: 2},
		{header: "recover s", figure: "time_to_recover", scale: 1, digits: 1},
		{header: "false shed %", figure: "false_shed", scale: 100, digits: 3},
		{header: "fairness", figure: "fairness", scale: 1, digits: 2},
	}
}

// isolationColumns returns what is told of runs in which a priority fails for its own reason.
func isolationColumns() []column {
	return []column{
		{header: "steady mean %", figure: "steady", scale: 100, digits: 2},
		{header: "steady worst %", figure: "steady_worst", scale: 100, digits: 2, worst: true},
		{header: "whole run mean %", figure: "whole", scale: 100, digits: 2},
		{header: "whole run worst %", figure: "whole_worst", scale: 100, digits: 2, worst: true},
	}
}

// cell returns a figure's number and its deviation, which is empty if there is none to tell.
func (c column) cell(r result) (number, deviation string) {
	f, known := r.Figures[c.figure]
	number = "-"
	switch x := f.Mean; {
	case !known || math.IsNaN(x):
		return number, ""
	case c.worst:
		return c.format(f.Min), ""
	case math.IsInf(x, 0):
		return "never", ""
	default:
		number = c.format(x)
	}
	if len(r.Seeds) > 1 {
		deviation = " ±" + c.format(f.Deviation)
	}
	return number, deviation
}

func (c column) format(x float64) string { return strconv.FormatFloat(x*c.scale, 'f', c.digits, 64) }
