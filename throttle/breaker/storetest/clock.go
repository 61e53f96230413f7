package storetest

import "time"

func clockCases() []testCase {
	return []testCase{
		{"is about right", clockAboutRight},
		{"keeps pace", clockKeepsPace},
		{"does not step back between handles", clockAgrees},
		{"tells parts of a second", clockIsFine},
	}
}

// clockAboutRight finds wrong units rather than wrong clocks.
func clockAboutRight(r *rig) {
	const day = 24 * time.Hour
	if off := time.Until(r.versions(r.Store).Now); off.Abs() > day {
		r.Errorf("Versions().Now: it is %v from the local clock, want at most a day: is its unit right?", off)
	}
}

// clockKeepsPace compares two times of the store with the least and the most that can have gone by in between.
func clockKeepsPace(r *rig) {
	const span = 200 * time.Millisecond
	asked1 := time.Now()
	first := r.versions(r.Store).Now
	told1 := time.Now()
	r.Pause(span)
	asked2 := time.Now()
	second := r.versions(r.Store).Now
	told2 := time.Now()
	r.expectBetween("Versions().Now less that of the call before", second.Sub(first), asked2.Sub(told1)-span/2, told2.Sub(asked1)+span/2)
}

func clockAgrees(r *rig) {
	stores := append(r.Handles(2), r.Store)
	last := r.versions(r.Store).Now
	for i := range 30 {
		now := r.versions(stores[i%len(stores)]).Now
		if now.Before(last.Add(-grain)) {
			r.Errorf("Versions().Now: got %v after %v: all handles must tell the time of one clock, the store's", now, last)
		}
		last = now
	}
}

func clockIsFine(r *rig) {
	for range 8 {
		if r.versions(r.Store).Now.Nanosecond() != 0 {
			return
		}
		r.Pause(7 * time.Millisecond)
	}
	r.Errorf("Versions().Now: 8 times in a row it was a whole second, want at least milliseconds")
}
