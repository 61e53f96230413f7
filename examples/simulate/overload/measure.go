package overload

import (
	"math"
	"slices"
	"time"
)

const (
	recoverySpan      = int(5 * time.Second / width) // how long a recovery must last
	minShed           = 0.1                          // share of the load, for TimeToShed
	recoveredAdmitted = 0.99                         // share of the load, for TimeToRecover
	recoveredServed   = 0.97
	aftermath         = int(30 * time.Second / width) // in which sheds count, for ShedPerFailed
	admittedSpan      = int(2 * time.Second / width)  // for TimeToAdmit
	nearlyAll         = 0.995                         // share of the load, for TimeToAdmit
)

// Figures are the results of a run. They are computed from counts per quarter of a second.
//
//   - Shares are from 0 to 1.
//   - A figure that does not apply to a scenario is NaN.
//   - A time that the run did not reach is +Inf.
//   - If a scenario has several cases, the figures are means over the cases.
//   - If a scenario has no disturbance, its figures are of the whole run.
type Figures struct {
	// Goodput is the useful work of the backend during the disturbance, as a share of the possible
	// work. Possible are the offered calls that it had the capacity for and that did not fail for
	// other reasons.
	Goodput float64
	// Success is the share of the offered calls that succeeded in the second half of the
	// disturbance, by priority.
	Success Tiers
	// Sent is the load that reached the backend in the second half of the disturbance, in multiples
	// of its capacity at that time.
	Sent float64
	// Waste is the share of the backend's work during the disturbance that was not useful:
	// rejections, and calls that had timed out.
	Waste float64
	// TimeToShed is the time in seconds from the start of the disturbance until a tenth of the
	// offered load was shed in a quarter of a second. It is NaN if there is no overload.
	TimeToShed float64
	// TimeToRecover is the time in seconds from the end of the disturbance to the start of five
	// seconds in which at least 99 % of the calls were admitted and at least 97 % succeeded.
	TimeToRecover float64
	// FalseShed is the share of the calls that were shed in the counted phases. If there are none,
	// it is the share before the disturbance, or in the whole run without a disturbance.
	FalseShed float64
	// Fairness is Jain's index of the clients' success rates during the disturbance. It is 1 if
	// they are all equal.
	Fairness float64
	// Steady and Whole are the admitted share of the worst healthy priority while another one
	// fails: in the second half of the last phase, and in the whole run. SteadyWorst and WholeWorst
	// are those of the worst case.
	Steady, SteadyWorst, Whole, WholeWorst float64
	// MostOpen is the largest number of admitted calls that had no answer and had not timed out.
	MostOpen float64
	// Attempts is the number of attempts that were sent during the disturbance, per first attempt
	// that was sent.
	Attempts float64
	// Succeeded is the share of the calls that succeeded during the disturbance, with their retries.
	Succeeded float64
	// ShedPerFailed is the number of calls that were shed in the 30 seconds after a disturbance, per
	// call that failed in it: that was sent and did not succeed. If there are several disturbances,
	// it is of all of them.
	ShedPerFailed float64
	// TimeToAdmit is the time in seconds from the end of the last disturbance to the start of two
	// seconds in which at least 99.5 % of the calls were admitted.
	TimeToAdmit float64
	// ShedAll is the share of the calls that were shed from the start of the first disturbance to
	// the end of the run.
	ShedAll float64
	// TenantsBelow is the success of the calls of tenants that send less than their max-min fair share, in the
	// second half of the disturbance. TenantsFair is Jain's index of the part of its share that each tenant got.
	// TenantsWorst is the smallest such part of all tenants with one weight.
	TenantsBelow, TenantsFair, TenantsWorst float64
}

// FigureNames returns the names of the figures, in the order of [Figures.Values].
func FigureNames() []string {
	return []string{
		"goodput", "success_high", "success_important", "success_medium", "success_low", "sent", "waste", "time_to_shed",
		"time_to_recover", "false_shed", "fairness", "steady", "steady_worst", "whole", "whole_worst", "most_open",
		"attempts", "succeeded", "shed_per_failed", "time_to_admit", "shed_all",
		"tenants_below", "tenants_fair", "tenants_worst",
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

// fields returns pointers to the figures, in the order of FigureNames.
func (f *Figures) fields() []*float64 {
	return []*float64{
		&f.Goodput, &f.Success[0], &f.Success[1], &f.Success[2], &f.Success[3], &f.Sent, &f.Waste, &f.TimeToShed,
		&f.TimeToRecover, &f.FalseShed, &f.Fairness, &f.Steady, &f.SteadyWorst, &f.Whole, &f.WholeWorst, &f.MostOpen,
		&f.Attempts, &f.Succeeded, &f.ShedPerFailed, &f.TimeToAdmit, &f.ShedAll,
		&f.TenantsBelow, &f.TenantsFair, &f.TenantsWorst,
	}
}

func measure(r *record, c *Case) Figures {
	f := Figures{FalseShed: falseShed(r), TimeToShed: math.NaN(), TimeToRecover: math.NaN(), ShedPerFailed: math.NaN(), TimeToAdmit: math.NaN()}
	first, end := r.disturbance()
	during, later := total(r.entries[first:end]), total(r.entries[(first+end)/2:end])
	f.Goodput = min(1, during.Useful/during.Servable) // saved up work can make it more than 1
	if during.Servable == 0 {
		f.Goodput = math.NaN()
	}
	f.Sent = (later.Admitted.sum() + later.resent) / later.Capacity
	if later.Capacity == 0 {
		f.Sent = math.NaN()
	}
	f.Attempts = 1 + during.resent/during.Admitted.sum()
	f.Succeeded = during.Succeeded.sum() / during.Offered.sum()
	f.Waste = during.wasted / (during.Useful + during.wasted)
	for p := range f.Success {
		f.Success[p] = later.Succeeded[p] / later.Offered[p]
	}
	if overloads(c.Phases) {
		f.TimeToShed = timeToShed(r.entries[first:end])
	}
	if end < len(r.entries) {
		f.TimeToRecover, f.TimeToAdmit = timeToRecover(r.entries[end:]), timeToAdmit(r.entries[end:])
		f.ShedPerFailed = shedPerFailed(r.entries)
	}
	f.ShedAll = shedShare(r.entries[first:])
	f.Fairness = fairness(r.clients)
	f.TenantsBelow, f.TenantsFair, f.TenantsWorst = tenantFigures(r.tenants)
	f.Steady, f.Whole = isolation(r, &c.Phases[len(c.Phases)-1])
	f.SteadyWorst, f.WholeWorst, f.MostOpen = f.Steady, f.Whole, float64(r.mostOpen)
	return f
}

// overloads reports whether a phase offers more calls than the backend can serve.
func overloads(phases []Phase) bool {
	for i := range phases {
		if p := &phases[i]; p.Disturbed && p.Load.sum() > p.Capacity {
			return true
		}
	}
	return false
}

// falseShed returns the share that was shed in the counted entries. If there are none, it returns
// the share before the disturbance, or in the whole run if there is no disturbance.
func falseShed(r *record) float64 {
	calm := r.entries
	if first, _ := r.disturbance(); !r.calm {
		calm = calm[:first]
	}
	notCounted := func(e entry) bool { return !e.counted }
	if counted := slices.DeleteFunc(slices.Clone(r.entries), notCounted); len(counted) > 0 {
		calm = counted
	}
	return shedShare(calm)
}

func shedShare(entries []entry) float64 {
	sum := total(entries)
	return 1 - sum.Admitted.sum()/sum.Offered.sum()
}

// shedPerFailed returns the calls that were shed soon after a disturbed entry, per call that failed
// in one.
func shedPerFailed(entries []entry) float64 {
	shed, failed, last := 0.0, 0.0, -aftermath-1
	for i := range entries {
		e := &entries[i]
		switch admitted := e.Admitted.sum(); {
		case e.Disturbed:
			failed += max(0, admitted-e.Succeeded.sum())
			last = i
		case i-last <= aftermath:
			shed += e.Offered.sum() - admitted
		}
	}
	return shed / failed
}

// timeToAdmit returns the seconds until nearly all calls are admitted for admittedSpan.
func timeToAdmit(after []entry) float64 {
	for i := range len(after) - admittedSpan + 1 {
		if shedShare(after[i:i+admittedSpan]) <= 1-nearlyAll {
			return seconds(i)
		}
	}
	return math.Inf(1)
}

// timeToShed returns the seconds until a share of minShed of the load was shed.
func timeToShed(during []entry) float64 {
	for i := range during {
		offered := during[i].Offered.sum()
		if shed := offered - during[i].Admitted.sum(); offered > 0 && shed >= minShed*offered {
			return seconds(i + 1)
		}
	}
	return math.Inf(1)
}

// timeToRecover returns the seconds until nearly all calls are admitted and served for
// recoverySpan.
func timeToRecover(after []entry) float64 {
	for i := range len(after) - recoverySpan + 1 {
		sum := total(after[i : i+recoverySpan])
		offered := sum.Offered.sum()
		if sum.Admitted.sum() >= recoveredAdmitted*offered && sum.Succeeded.sum() >= recoveredServed*offered {
			return seconds(i)
		}
	}
	return math.Inf(1)
}

// seconds returns the span of a number of entries.
func seconds(entries int) float64 { return (time.Duration(entries) * width).Seconds() }

// fairness returns Jain's index of the success rates of the clients that offered calls.
func fairness(clients []Part) float64 {
	var rates []float64
	for _, c := range clients {
		if c.Offered > 0 {
			rates = append(rates, c.Succeeded/c.Offered)
		}
	}
	return jain(rates)
}

// jain returns Jain's index: 1 if all are equal.
func jain(all []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range all {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(all)) * squares)
}

// combine returns the figures of a run: the means of its cases, without the cases in which a figure
// is NaN. SteadyWorst and WholeWorst are the smallest values.
func combine(cases []Figures) Figures {
	sum, n := make([]float64, len(FigureNames())), make([]float64, len(FigureNames()))
	steady, whole := math.NaN(), math.NaN()
	for i := range cases {
		steady = worst(steady, cases[i].SteadyWorst)
		whole = worst(whole, cases[i].WholeWorst)
		for k, x := range cases[i].Values() {
			if !math.IsNaN(x) {
				sum[k] += x
				n[k]++
			}
		}
	}
	var f Figures
	for k, field := range f.fields() {
		*field = sum[k] / n[k]
	}
	f.SteadyWorst, f.WholeWorst = steady, whole
	return f
}
