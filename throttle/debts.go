package throttle

// debts are numbers of which none may be above 0, at any time until all that the window holds is forgotten, for a probability to be
// proven 0. Each is a sum of counts with fixed factors, so that it changes by the same amount wherever one begins to count.
type debts struct {
	span   float64 // of what the window holds, now and later
	target float64 // the same, but only as long as any of it is recent
	recent float64 // of what is recent, now and later
}

func (d debts) plus(e debts) debts {
	return debts{span: d.span + e.span, target: d.target + e.target, recent: d.recent + e.recent}
}

func (d debts) minus(e debts) debts {
	return debts{span: d.span - e.span, target: d.target - e.target, recent: d.recent - e.recent}
}

// none reports whether there is no debt.
func (d debts) none() bool { return d.span <= 0 && d.target <= 0 && d.recent <= 0 }

// worsen takes the debts of the suffix of so many closed buckets into account, each of which must be greater than the last.
func (d *debts) worsen(by debts, age int) {
	d.span = max(d.span, by.span)
	if age <= bucketsPerWindow-recentBuckets {
		d.target = by.target // by the time the window holds as little as the suffixes before, nothing in them is recent
	} else {
		d.target = max(d.target, by.target)
	}
	if age <= recentBuckets {
		d.recent = max(d.recent, by.recent)
	}
}
