package overload

import "time"

// Series tells a run second by second, on average over its cases.
type Series struct {
	Offered, Admitted, Succeeded []Tiers   // calls, by priority
	Capacity                     []float64 // calls that the backend could have served
	Useful                       []float64 // calls that it did serve usefully
	Disturbed                    []bool
}

// newSeries returns a series of so many seconds in which nothing happens.
func newSeries(n int) Series {
	return Series{
		Offered: make([]Tiers, n), Admitted: make([]Tiers, n), Succeeded: make([]Tiers, n),
		Capacity: make([]float64, n), Useful: make([]float64, n), Disturbed: make([]bool, n),
	}
}

// seriesOf returns the mean of what the records hold. A second that only some of them reach is the mean of those.
func seriesOf(records []*record) Series {
	const perSecond = int(time.Second / width)
	var all []Series
	for _, r := range records {
		s := newSeries((len(r.entries) + perSecond - 1) / perSecond)
		for i := range s.Offered {
			entries := r.entries[i*perSecond : min((i+1)*perSecond, len(r.entries))]
			sum := total(entries)
			s.Offered[i], s.Admitted[i], s.Succeeded[i] = sum.offered, sum.admitted, sum.succeeded
			s.Capacity[i], s.Useful[i], s.Disturbed[i] = sum.capacity, sum.useful, entries[0].disturbed
		}
		all = append(all, s)
	}
	return meanSeries(all)
}

// meanSeries returns the mean of several series. What is disturbed in one of them is disturbed.
func meanSeries(all []Series) Series {
	n := 0
	for i := range all {
		n = max(n, len(all[i].Offered))
	}
	mean := newSeries(n)
	for i := range n {
		var reaching []*Series
		for k := range all {
			if i < len(all[k].Offered) {
				reaching = append(reaching, &all[k])
			}
		}
		share := 1 / float64(len(reaching))
		for _, s := range reaching {
			mean.addSecond(s, i, share)
		}
	}
	return mean
}

// addSecond adds a share of one second of t.
func (s *Series) addSecond(t *Series, i int, share float64) {
	for p := range t.Offered[i] {
		s.Offered[i][p] += share * t.Offered[i][p]
		s.Admitted[i][p] += share * t.Admitted[i][p]
		s.Succeeded[i][p] += share * t.Succeeded[i][p]
	}
	s.Capacity[i] += share * t.Capacity[i]
	s.Useful[i] += share * t.Useful[i]
	s.Disturbed[i] = s.Disturbed[i] || t.Disturbed[i]
}
