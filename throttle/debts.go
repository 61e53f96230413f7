package throttle

// debts are three numbers. If none is above 0 until the window is empty, the probability is proven
// 0. Each is a sum of counts with fixed factors, so it changes by the same amount for every suffix.
type debts struct {
	span   float64 // of the window, now and later
	target float64 // of the window while a part of it is recent
	recent float64 // of the recent part, now and later
}

func (d debts) plus(e debts) debts {
	return debts{span: d.span + e.span, target: d.target + e.target, recent: d.recent + e.recent}
}

func (d debts) minus(e debts) debts {
	return debts{span: d.span - e.span, target: d.target - e.target, recent: d.recent - e.recent}
}

// none reports whether there is no debt.
func (d debts) none() bool { return d.span <= 0 && d.target <= 0 && d.recent <= 0 }

// worsen adds the debts of the suffix of age closed buckets. Age must increase from call to call.
func (d *debts) worsen(by debts, age int) {
	d.span = max(d.span, by.span)
	if age <= bucketsPerWindow-recentBuckets {
		d.target = by.target // when the window holds only the shorter suffixes, none of them is recent
	} else {
		d.target = max(d.target, by.target)
	}
	if age <= recentBuckets {
		d.recent = max(d.recent, by.recent)
	}
}
