package main

import (
	"fmt"
	"slices"
)

// storeBound is a bound on the tokens granted per second: a least number, or a least ratio to those of
// another contender.
type storeBound struct {
	what        string
	over, under string // contenders; an empty under means that least is a number
	least       float64
}

func storeBounds() []storeBound {
	return []storeBound{
		{"Redis, coalesced, takes/s", redisCoalesced, "", 100_000},
		{"Redis, coalesced / one by one", redisCoalesced, redisOneByOne, 8},
		{"Redis, coalesced / redis_rate", redisCoalesced, redisRate, 0},
		{"Redis, one by one / redis_rate", redisOneByOne, redisRate, 0},
		{"Redis, coalesced / redis_rate, 1,000 keys", redisThousand, redisRateThousand, 1.2},
		{"Redis, coalesced / redis_rate, 100,000 keys", redisHundredThousand, redisRateHundredThousand, 1.2},
	}
}

// storeTables returns the tables of measurements, verdicts and warnings.
func storeTables(all []*contender) []table {
	t := table{heading: "spillway, buckets in stores, 64 callers of one bucket, or of many", rows: [][]string{{
		"one token", "takes/s p50", "p90", "store calls/s", "own CPU us/take", "alone p50 us", "p99", "granted",
	}}}
	named := map[string]*contender{}
	for _, c := range all {
		named[c.name] = c
		t.rows = append(t.rows, c.row())
	}
	verdicts := table{heading: "bounds of stores", rows: [][]string{{"what", "at p90", "measured", "bound", "verdict"}}}
	for _, c := range storeBounds() {
		if row := c.verdict(named); row != nil {
			verdicts.rows = append(verdicts.rows, row)
		}
	}
	warnings := table{heading: "WARNING: not granted", rows: [][]string{{"one token", "granted", "why"}}}
	for _, c := range all {
		if c.failure != "" {
			warnings.rows = append(warnings.rows, []string{c.name, percent(c.share()), c.failure})
		}
	}
	return slices.DeleteFunc([]table{t, verdicts, warnings}, func(t table) bool { return len(t.rows) == 1 })
}

func (c *contender) row() []string {
	if c.unavailable != "" {
		return []string{c.name, "not measured: " + c.unavailable, "-", "-", "-", "-", "-", "-"}
	}
	return []string{
		c.name, figure("%.0f", quantile(c.rates, 0.5)), figure("%.0f", quantile(c.rates, 0.9)), figure("%.0f", quantile(c.callRates, 0.5)),
		figure("%.1f", quantile(c.cost, 0.5)), figure("%.1f", quantile(c.alone, 0.5)), figure("%.1f", quantile(c.alone, 0.99)), percent(c.share()),
	}
}

func (c *contender) share() float64 {
	if c.asked == 0 {
		return 0
	}
	return float64(c.granted) / float64(c.asked)
}

// verdict returns the row of a bound, or nil if it was not measured. The verdict is about the medians.
func (s storeBound) verdict(named map[string]*contender) []string {
	format := "%.2f"
	if s.under == "" {
		format = "%.0f"
	}
	measured := s.measured(named, 0.5)
	if measured == 0 {
		return nil
	}
	bound, verdict := "-", "to compare"
	if s.least > 0 {
		bound, verdict = fmt.Sprintf(">= "+format, s.least), "met"
		if measured < s.least {
			verdict = "MISSED"
		}
	}
	return []string{s.what, figure(format, s.measured(named, 0.9)), figure(format, measured), bound, verdict}
}

// measured returns the number or ratio at a quantile, or 0 if it was not measured.
func (s storeBound) measured(named map[string]*contender, q float64) float64 {
	over := named[s.over]
	if over == nil {
		return 0
	}
	if s.under == "" {
		return quantile(over.rates, q)
	}
	under := named[s.under]
	if under == nil || len(under.rates) == 0 {
		return 0
	}
	return quantile(over.rates, q) / quantile(under.rates, q)
}
