package main

import (
	"fmt"
	"slices"
)

// storeClaim is a bound on how many tokens per second are granted: at least so many, or at least so many times those of another.
type storeClaim struct {
	what        string
	over, under string // contenders; without under it is about over alone
	least       float64
}

func storeClaims() []storeClaim {
	return []storeClaim{
		{"Redis, coalesced, takes/s", redisCoalesced, "", 100_000},
		{"Redis, coalesced / one by one", redisCoalesced, redisOneByOne, 8},
		{"Redis, coalesced / redis_rate", redisCoalesced, redisRate, 0},
		{"Redis, one by one / redis_rate", redisOneByOne, redisRate, 0},
	}
}

// storeTables are what was measured, and the verdicts.
func storeTables(all []*contender) []table {
	t := table{heading: "spillway, buckets in stores, 64 callers of one bucket", rows: [][]string{{
		"one token", "takes/s p50", "p90", "store calls/s", "own CPU us/take", "alone p50 us", "p99", "granted",
	}}}
	named := map[string]*contender{}
	for _, c := range all {
		named[c.name] = c
		t.rows = append(t.rows, c.row())
	}
	verdicts := table{heading: "bounds of stores", rows: [][]string{{"what", "at p90", "measured", "bound", "verdict"}}}
	for _, c := range storeClaims() {
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

// row is a contender's line.
func (c *contender) row() []string {
	if c.lacks != "" {
		return []string{c.name, "not measured: " + c.lacks, "-", "-", "-", "-", "-", "-"}
	}
	trips := c.trips
	if c.calls == nil {
		trips = c.rates
	}
	return []string{
		c.name, figure("%.0f", quantile(c.rates, 0.5)), figure("%.0f", quantile(c.rates, 0.9)), figure("%.0f", quantile(trips, 0.5)),
		figure("%.1f", quantile(c.cost, 0.5)), figure("%.1f", quantile(c.alone, 0.5)), figure("%.1f", quantile(c.alone, 0.99)), percent(c.share()),
	}
}

// share is the part of the takes that were granted.
func (c *contender) share() float64 {
	if c.asked == 0 {
		return 0
	}
	return float64(c.granted) / float64(c.asked)
}

// verdict is a claim's line: the verdict is about the medians. A claim about what was not measured has none.
func (s storeClaim) verdict(named map[string]*contender) []string {
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

// measured is what the claim is about, of a quantile, or 0 if it was not measured.
func (s storeClaim) measured(named map[string]*contender, q float64) float64 {
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
