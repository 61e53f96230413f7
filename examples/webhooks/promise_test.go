package main

import (
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	var p promises
	p.timed("a", time.Second, time.Second)
	p.counted("b", "1", "1", true)
	if !p.kept() {
		t.Errorf("kept: got false of %v want true", p)
	}
	p.timed("c", time.Second, time.Second+1)
	if got := p[2].verdict; got != isLate || !p.kept() {
		t.Errorf("too late: got %s, kept %v want late and no reason to fail", got, p.kept())
	}
	p.counted("d", "0", "1", false)
	if got := p[3].verdict; got != isBroken || p.kept() {
		t.Errorf("broken: got %s, kept %v want BROKEN and false", got, p.kept())
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12345 * time.Millisecond: "12.3s", 1234 * time.Millisecond: "1.23s", 123456 * time.Microsecond: "123ms", 1234 * time.Microsecond: "1.2ms", 0: "0s",
	} {
		if got := span(d); got != want {
			t.Errorf("span of %d: got %s want %s", d, got, want)
		}
	}
}
