package main

import (
	"testing"
	"time"
)

func TestStretch(t *testing.T) {
	begun := time.Now()
	m := mark{at: begun, counts: counts{written: 10, throttled: 1, offered: 100}, credit: 20}
	was := mark{at: begun.Add(2 * time.Second), counts: counts{written: 70, throttled: 21, offered: 200}, credit: 7}.since(m)
	if want := (stretch{took: 2 * time.Second, written: 60, throttled: 20, units: 113}); was != want {
		t.Errorf("since: got %+v want %+v", was, want)
	}
	was.units = 120
	if was.used() != 0.5 || was.perSecond() != 30 || was.throttledShare() != 0.25 {
		t.Errorf("got %v used, %v a second, %v throttled want 0.5, 30, 0.25", was.used(), was.perSecond(), was.throttledShare())
	}
	if none := (stretch{}); none.used() != 0 || none.perSecond() != 0 || none.throttledShare() != 0 {
		t.Errorf("nothing: got %v, %v, %v want zeros", none.used(), none.perSecond(), none.throttledShare())
	}
}
