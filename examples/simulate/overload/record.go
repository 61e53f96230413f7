package overload

import (
	"slices"
	"time"
)

// width is the span of one entry of a record.
const width = 250 * time.Millisecond

// entry has the counts of a quarter of a second. A call is counted at the time at which it was
// offered. Work is counted at the time at which it was done. Its Servable calls are those that do not
// fail for other reasons, also beyond the capacity.
type entry struct {
	Second
	resent  float64 // retries that reached the backend
	wasted  float64 // work
	counted bool    // for Figures.FalseShed
}

type record struct {
	entries        []entry
	clients        []Part // calls during the disturbance, or in the whole run if there is none
	tenants        []tenantCounts
	largest        int  // the tenant with the most calls
	calm           bool // no phase is disturbed
	open, mostOpen int  // admitted calls without an answer

	laterFrom, laterTo time.Duration // the second half of the disturbance
}

func newRecord(phases []Phase, clients int, capacity float64) *record {
	r := &record{clients: make([]Part, clients), calm: !slices.ContainsFunc(phases, func(p Phase) bool { return p.Disturbed })}
	begin := time.Duration(0)
	for i := range phases {
		p, end := &phases[i], begin+phases[i].Length
		for k := begin / width; k*width < end; k++ {
			if int(k) == len(r.entries) { // it begins in this phase
				r.entries = append(r.entries, entry{Second: Second{Disturbed: p.Disturbed}, counted: p.Counted})
			}
			r.entries[k].Capacity += p.Capacity * capacity * (min(end, (k+1)*width) - max(begin, k*width)).Seconds()
		}
		begin = end
	}
	first, end := r.disturbance()
	r.laterFrom, r.laterTo = time.Duration((first+end)/2)*width, time.Duration(end)*width
	return r
}

// at returns the entry of a time. Times after the end belong to the last entry.
func (r *record) at(t time.Duration) *entry {
	return &r.entries[min(int(t/width), len(r.entries)-1)]
}

func (r *record) offer(o offer) *entry {
	e := r.at(o.at)
	e.Offered[o.priority]++
	if !o.fails {
		e.Servable++
	}
	r.eachPart(o, func(p *Part) { p.Offered++ })
	return e
}

func (r *record) success(o offer) {
	r.at(o.at).Succeeded[o.priority]++
	r.eachPart(o, func(p *Part) { p.Succeeded++ })
}

// eachPart calls f with the counts that a call belongs to, beside that of its priority.
func (r *record) eachPart(o offer, f func(*Part)) {
	e := r.at(o.at)
	if e.Disturbed || r.calm {
		f(&r.clients[o.client])
	}
	if len(r.tenants) == 0 {
		return
	}
	if o.tenant != r.largest {
		f(&e.Modest)
	}
	if o.at >= r.laterFrom && o.at < r.laterTo {
		f(&r.tenants[o.tenant].Part)
	}
}

// disturbance returns the range from the first disturbed entry to the last one. It returns all
// entries if no entry is disturbed.
func (r *record) disturbance() (first, end int) {
	first, end = 0, len(r.entries)
	if r.calm {
		return first, end
	}
	for first < end && !r.entries[first].Disturbed {
		first++
	}
	for first < end && !r.entries[end-1].Disturbed {
		end--
	}
	return first, end
}

func total(entries []entry) entry {
	sum := entry{}
	for _, e := range entries {
		e.Servable = min(e.Servable, e.Capacity)
		sum.add(&e.Second, 1)
		sum.resent += e.resent
		sum.wasted += e.wasted
	}
	return sum
}

func (t *Tiers) sum() float64 {
	sum := 0.0
	for _, x := range t {
		sum += x
	}
	return sum
}

// Second has the counts of one second of a run, as the mean of its cases.
type Second struct {
	Offered, Admitted, Succeeded Tiers   // calls, by priority
	Modest                       Part    // calls of all tenants but the largest
	Capacity                     float64 // calls that the backend had the capacity to serve
	Servable                     float64 // offered calls that it could have served
	Useful                       float64 // calls that it served before their callers timed out
	Disturbed                    bool
}

func seriesOf(records []*record) []Second {
	var all [][]Second
	for _, r := range records {
		var series []Second
		for entries := range slices.Chunk(r.entries, int(time.Second/width)) {
			sum := total(entries).Second
			sum.Disturbed = entries[0].Disturbed
			series = append(series, sum)
		}
		all = append(all, series)
	}
	return meanSeries(all)
}

// meanSeries returns the mean of several series. Each second is the mean of those that are long enough. It
// is disturbed if it is in one of them.
func meanSeries(all [][]Second) []Second {
	var mean []Second
	for i := 0; ; i++ {
		all = slices.DeleteFunc(slices.Clone(all), func(s []Second) bool { return i >= len(s) })
		if len(all) == 0 {
			return mean
		}
		var sum Second
		for _, s := range all {
			sum.add(&s[i], 1/float64(len(all)))
		}
		mean = append(mean, sum)
	}
}

func (s *Second) add(t *Second, share float64) {
	for p := range t.Offered {
		s.Offered[p] += share * t.Offered[p]
		s.Admitted[p] += share * t.Admitted[p]
		s.Succeeded[p] += share * t.Succeeded[p]
	}
	s.Modest.Add(t.Modest, share)
	s.Capacity += share * t.Capacity
	s.Servable += share * t.Servable
	s.Useful += share * t.Useful
	s.Disturbed = s.Disturbed || t.Disturbed
}
