package overload

import (
	"slices"
	"time"
)

// width is the time that one entry of a record is about.
const width = 250 * time.Millisecond

// entry is what happened in a quarter of a second. Calls belong to the time at which they were offered, work to the time at which it
// was done.
type entry struct {
	offered, admitted, succeeded Tiers
	useful, wasted               float64 // work
	capacity                     float64 // calls that the backend could have served, if asked
	servable                     float64 // offered calls that it rejects only if it must
	disturbed                    bool
}

// record is what happened in a case.
type record struct {
	entries []entry
	clients []client
	calm    bool // there is no disturbance
}

// client is how one client fared during the disturbance, or in the whole run if there is none.
type client struct {
	offered, succeeded int
}

// newRecord returns the record of a case that is about to begin.
func newRecord(phases []Phase, clients int, capacity float64) *record {
	length := time.Duration(0)
	for i := range phases {
		length += phases[i].Length
	}
	r := &record{
		entries: make([]entry, (length+width-1)/width),
		clients: make([]client, clients),
		calm:    !slices.ContainsFunc(phases, func(p Phase) bool { return p.Disturbed }),
	}
	begin := time.Duration(0)
	for i := range phases {
		r.plan(&phases[i], begin, capacity)
		begin += phases[i].Length
	}
	return r
}

// plan notes what a phase will bring.
func (r *record) plan(p *Phase, begin time.Duration, capacity float64) {
	end := begin + p.Length
	for i := begin / width; i*width < end; i++ {
		e := &r.entries[i]
		e.capacity += p.Capacity * capacity * (min(end, (i+1)*width) - max(begin, i*width)).Seconds()
		if begin <= i*width {
			e.disturbed = p.Disturbed
		}
	}
}

// at returns the entry about a time. What comes in after the end belongs to the last one.
func (r *record) at(t time.Duration) *entry {
	return &r.entries[min(int(t/width), len(r.entries)-1)]
}

// offer notes an offered call.
func (r *record) offer(o offer, at time.Duration) *entry {
	e := r.at(at)
	e.offered[o.priority]++
	if !o.doomed {
		e.servable++
	}
	if e.disturbed || r.calm {
		r.clients[o.client].offered++
	}
	return e
}

// success notes that a call offered at that time has succeeded.
func (r *record) success(o offer, at time.Duration) {
	e := r.at(at)
	e.succeeded[o.priority]++
	if e.disturbed || r.calm {
		r.clients[o.client].succeeded++
	}
}

// disturbance returns the entries from the first disturbed one to the last, or all of them if none is.
func (r *record) disturbance() (first, end int) {
	if r.calm {
		return 0, len(r.entries)
	}
	disturbed := func(e entry) bool { return e.disturbed }
	first = slices.IndexFunc(r.entries, disturbed)
	for i := max(first, 0); i < len(r.entries); i++ {
		if r.entries[i].disturbed {
			end = i + 1
		}
	}
	return max(first, 0), end
}

// total adds up entries.
func total(entries []entry) entry {
	sum := entry{}
	for i := range entries {
		e := &entries[i]
		sum.offered.add(&e.offered)
		sum.admitted.add(&e.admitted)
		sum.succeeded.add(&e.succeeded)
		sum.useful += e.useful
		sum.wasted += e.wasted
		sum.capacity += e.capacity
		sum.servable += min(e.servable, e.capacity)
	}
	return sum
}

func (t *Tiers) add(u *Tiers) {
	for p := range t {
		t[p] += u[p]
	}
}

// sum is the number over all priorities.
func (t *Tiers) sum() float64 {
	sum := 0.0
	for _, x := range t {
		sum += x
	}
	return sum
}
