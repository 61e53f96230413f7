package overload

import "math"

// Figure is one of the numbers in Figures, over several seeds.
type Figure struct {
	Mean, Deviation, Min, Max float64
}

// Summary has the figures of one scenario and one policy, over several seeds.
type Summary struct {
	Scenario, Policy string
	Seeds            []uint64
	Figures          map[string]Figure // by the names of FigureNames
	Series           []Second          // the mean
}

// Summarize combines outcomes of one scenario and one policy. If a figure is NaN in one outcome, it
// is NaN in the summary. If a time is +Inf in one outcome, its mean is +Inf. Deviation is the
// sample standard deviation, and 0 for a single outcome.
func Summarize(outcomes []Outcome) Summary {
	s := Summary{Figures: make(map[string]Figure)}
	var series [][]Second
	values := make([][]float64, len(FigureNames()))
	for i := range outcomes {
		o := &outcomes[i]
		s.Scenario, s.Policy = o.Scenario, o.Policy
		s.Seeds = append(s.Seeds, o.Seed)
		series = append(series, o.Series)
		for k, x := range o.Figures.Values() {
			values[k] = append(values[k], x)
		}
	}
	for k, name := range FigureNames() {
		s.Figures[name] = figureOf(values[k])
	}
	s.Series = meanSeries(series)
	return s
}

// figureOf combines the values of one figure. All fields are NaN if there are no values, or if one
// of them is NaN.
func figureOf(values []float64) Figure {
	f := Figure{Mean: math.NaN(), Deviation: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	if len(values) == 0 {
		return f
	}
	f.Min, f.Max, f.Mean = values[0], values[0], 0
	for _, x := range values {
		f.Mean += x / float64(len(values))
		f.Min, f.Max = min(f.Min, x), max(f.Max, x)
	}
	f.Deviation = deviation(values, f)
	return f
}

// deviation returns the sample standard deviation. It is 0 if all times are +Inf, and +Inf if only
// some are.
func deviation(values []float64, f Figure) float64 {
	switch {
	case f.Min == f.Max:
		return 0
	case math.IsInf(f.Mean, 0):
		return math.Inf(1)
	}
	squares := 0.0
	for _, x := range values {
		squares += (x - f.Mean) * (x - f.Mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
