package overload

import "math"

// Figure is one of the numbers in Figures, put together over the seeds.
type Figure struct {
	Mean, Deviation, Min, Max float64
}

// Summary puts together the outcomes of one scenario and one policy with several seeds.
type Summary struct {
	Scenario, Policy string
	Seeds            []uint64
	Figures          map[string]Figure // by the names that FigureNames tells
	Series           Series            // the mean
}

// Summarize puts together outcomes of one scenario and one policy. A figure that is NaN in one of them is NaN, and the mean of
// times of which one never came is +Inf. The deviation is that of a sample: 0 if there is but one.
func Summarize(outcomes []Outcome) Summary {
	s := Summary{Figures: make(map[string]Figure)}
	var series []Series
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

// figureOf puts one number together. Min and max of nothing, and of what is not a number, are NaN too.
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

// deviation is that of a sample with a mean. Times that all never came do not deviate; if only some did, it is +Inf.
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
