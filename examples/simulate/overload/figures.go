package overload

// Figures are what is said of a run. Shares are from 0 to 1. A figure that has no meaning in a scenario is NaN; a time that
// never came is +Inf. Of several cases they are the mean. Time is looked at in quarters of a second. If nothing is disturbed in a
// scenario, what is said of the disturbance is said of the whole run.
type Figures struct {
	// Goodput is what the backend served usefully during the disturbance, as a share of what it could have: of the calls
	// offered that it had the capacity for, and no reason of its own to reject.
	Goodput float64
	// Success is the share of the calls offered that succeeded in the second half of the disturbance, by priority.
	Success Tiers
	// Sent is the load that reached the backend in the second half of the disturbance, in multiples of the capacity it had.
	Sent float64
	// Waste is the share of the backend's work during the disturbance that helped nobody.
	Waste float64
	// TimeToShed is how many seconds after the onset a tenth of the offered load has been shed, for a quarter of a second. It
	// has no meaning if nothing is overloaded.
	TimeToShed float64
	// TimeToRecover is how many seconds after the end of the disturbance five seconds begin in which at least 99 % are admitted and
	// at least 97 % succeed.
	TimeToRecover float64
	// FalseShed is the share of the calls that were shed while nothing was wrong: before the disturbance, or ever if there is none.
	FalseShed float64
	// Fairness is Jain's index of the clients' success rates during the disturbance: 1 if all fare alike.
	Fairness float64
	// Steady and Whole are the share admitted of the worst healthy priority beside a failing one: in the second half
	// of the last phase, and in the whole run. SteadyWorst and WholeWorst are those of the worst case.
	Steady, SteadyWorst, Whole, WholeWorst float64
}

// FigureNames returns the names of the figures, in the order of [Figures.Values].
func FigureNames() []string {
	return []string{
		"goodput", "success_high", "success_important", "success_medium", "success_low", "sent", "waste", "time_to_shed",
		"time_to_recover", "false_shed", "fairness", "steady", "steady_worst", "whole", "whole_worst",
	}
}

// Values returns the figures in the order of [FigureNames].
func (f Figures) Values() []float64 {
	fields := f.fields()
	values := make([]float64, len(fields))
	for i, field := range fields {
		values[i] = *field
	}
	return values
}

// figuresOf returns the figures with these values.
func figuresOf(values []float64) Figures {
	var f Figures
	for i, field := range f.fields() {
		*field = values[i]
	}
	return f
}

// fields returns where the figures are, in the order of FigureNames.
func (f *Figures) fields() []*float64 {
	return []*float64{
		&f.Goodput, &f.Success[0], &f.Success[1], &f.Success[2], &f.Success[3], &f.Sent, &f.Waste, &f.TimeToShed,
		&f.TimeToRecover, &f.FalseShed, &f.Fairness, &f.Steady, &f.SteadyWorst, &f.Whole, &f.WholeWorst,
	}
}
