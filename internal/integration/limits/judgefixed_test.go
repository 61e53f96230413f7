package limits

import (
	"fmt"
	"time"
)

// periods returns the first and the last period of the grid in which something was asked or answered.
func (j judge) periods(h history) (first, last int64) {
	for i, d := range h {
		if k := d.Asked / int64(j.limit.Period); i == 0 || k < first {
			first = k
		}
		last = max(last, d.Answered/int64(j.limit.Period))
	}
	return first, last
}

// fixedTooMuch says in which periods of the grid more than their capacity was granted for sure.
func (j judge) fixedTooMuch(h history) string {
	period, grants := int64(j.limit.Period), h.that(granted)
	first, last := j.periods(grants)
	for from := first; from <= last; from++ {
		tokens := make([]int64, last-from+1) // by the period in which they can have been granted last
		for _, d := range grants {
			if d.Asked >= from*period {
				tokens[d.Answered/period-from] += int64(d.Granted)
			}
		}
		sum := int64(0)
		for i, n := range tokens {
			if sum += n; sum > int64(i+1)*j.limit.Capacity {
				return fmt.Sprintf("%d tokens in %d periods of %d", sum, i+1, j.limit.Capacity)
			}
		}
	}
	return ""
}

// fixedUsed returns the use of those periods of the grid in which somebody found the bucket empty for sure.
func (j judge) fixedUsed(h history) use {
	var u use
	period := int64(j.limit.Period)
	first, last := j.periods(h)
	for k := first; k <= last; k++ {
		begins, ends := k*period, (k+1)*period
		empty, tokens, perhaps := false, int64(0), int64(0)
		for _, d := range h {
			switch {
			case d.Asked >= ends || d.Outcome == answered && d.Answered < begins:
			case unknown(d):
				perhaps += int64(d.Wanted)
			case granted(d):
				tokens += int64(d.Granted)
			case emptied(d) && d.Asked >= begins && d.Answered < ends:
				empty = true
			}
		}
		if empty { // who was granted something around a border may have had it on either side
			u.budget += float64(j.limit.Capacity)
			u.tokens += min(tokens, j.limit.Capacity)
			u.perhaps += min(perhaps, j.limit.Capacity-min(tokens, j.limit.Capacity))
		}
	}
	return u
}

// fixedRetries wants who was denied to be told of the beginning of the next period.
func (j judge) fixedRetries(h history) (faults []string) {
	period, tick := int64(j.limit.Period), int64(j.tick)
	for _, d := range h {
		if d.Outcome != answered || d.Granted > 0 {
			continue
		}
		told := d.Answered + d.RetryAfter
		if d.RetryAfter > period+tick || told-told%period < d.Asked+d.RetryAfter-2*tick {
			faults = append(faults, fmt.Sprintf("denied %v after the border of a period for %v", time.Duration(d.Asked%period), time.Duration(d.RetryAfter)))
		}
	}
	return faults
}
