package main

import (
	"fmt"
	"maps"
	"slices"
)

// mostFalls is how many falls are told of one by one.
const mostFalls = 5

// ledger knows what every counter was when it was seen last. One that is not there for a while must come back with no less.
type ledger struct {
	last  map[string]float64
	falls []string // the first few
	fell  int
}

// note compares a scrape with those before.
func (l *ledger) note(now map[string]float64) {
	if l.last == nil {
		l.last = map[string]float64{}
	}
	for _, series := range slices.Sorted(maps.Keys(now)) {
		if was, ok := l.last[series]; ok && now[series] < was {
			if l.fell++; l.fell <= mostFalls {
				l.falls = append(l.falls, fmt.Sprintf("%s fell from %v to %v", series, was, now[series]))
			}
		}
		l.last[series] = now[series]
	}
}
