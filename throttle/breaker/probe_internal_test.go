package breaker

import (
	"testing"
	"time"
)

func TestOneAsksForProbesAndEachIsTakenOnce(t *testing.T) {
	now := time.Now()
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	var p probes
	if p.take(now) || !p.begin(now) {
		t.Fatal("there is one before anybody asked, or nobody may ask")
	}
	if p.begin(now) {
		t.Error("two ask at once")
	}
	p.grant(1, at(5))
	if p.begin(at(4)) {
		t.Error("more is asked for while there is one")
	}
	if p.take(at(5)) {
		t.Error("one was taken after its time")
	}
	if !p.take(at(4)) || p.take(at(4)) {
		t.Error("one was granted, and there was none, or there were two")
	}
	if !p.begin(at(4)) {
		t.Error("nobody may ask for the next")
	}
	p.grant(0, at(5))
	if p.begin(at(4)) {
		t.Error("more is asked for when the budget is used up")
	}
	if !p.begin(at(5)) {
		t.Error("nobody may ask when the next budget has begun")
	}
	p.grant(0, time.Time{})
	if !p.begin(at(5)) {
		t.Error("nobody may ask again when there was no answer")
	}
}
