package breaker

import (
	"testing"
	"time"
)

func TestAProbeIsTakenOnceAndInTime(t *testing.T) {
	now := time.Now()
	end := now.Add(time.Second)
	var p probes
	p.setGrant(1, end)
	if p.take(end) {
		t.Error("got a probe after its time, want none")
	}
	if !p.take(now) || p.take(now) {
		t.Error("got none or two of one probe that was granted, want one")
	}
}
