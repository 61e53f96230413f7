package statusz

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestLoad_words keeps the worst word of the open members of a row.
func TestLoad_words(t *testing.T) {
	member := func(tells, overloaded bool, h throttle.ReceivedStats) *memberStats {
		m := &memberStats{ok: true}
		m.stats.SendsLoad, m.stats.Load.Overloaded, m.stats.Received = tells, overloaded, h
		return m
	}
	var r rowStats
	for _, step := range []struct {
		m              *memberStats
		told, received string
	}{
		{member(false, false, throttle.ReceivedStats{}), "", ""},
		{member(true, false, throttle.ReceivedStats{}), "calm", ""},
		{member(false, false, throttle.ReceivedStats{Known: true, Calm: true}), "calm", "calm"},
		{member(false, false, throttle.ReceivedStats{Known: true}), "calm", "mixed"},
		{member(true, true, throttle.ReceivedStats{Known: true, Overloaded: true}), "overloaded", "overloaded"},
		{member(true, false, throttle.ReceivedStats{Known: true, Doubted: true}), "overloaded", "overloaded"},
	} {
		r = r.with(step.m, true)
		doc := documentOf(&r)
		if doc.LoadSent != step.told || doc.LoadReceived != step.received {
			t.Errorf("got told %q and received %q, want %q and %q", doc.LoadSent, doc.LoadReceived, step.told, step.received)
		}
	}
	closed := rowStats{}.with(member(true, true, throttle.ReceivedStats{Known: true}), false)
	if closed.told != "" || closed.received != "" {
		t.Errorf("a closed member: got %q and %q", closed.told, closed.received)
	}
	doc := documentOf(&r)
	if head := string(encodeHead(&doc)); !strings.Contains(head, `"load_sent":"overloaded","load_received":"overloaded"`) {
		t.Errorf("got head %s", head)
	}
}

// TestLoad_causes counts the sheds of the cause told.
func TestLoad_causes(t *testing.T) {
	var s prioritySums
	s.Shed.Add(throttle.CauseTold, 7)
	doc := s.document()
	if want := (causeDocument{Told: 7}); doc.Shed != want || doc.Shed.sum() != 7 {
		t.Errorf("got shed %+v want %+v", doc.Shed, want)
	}
	if got, want := string(appendFigures(nil, &doc)), "0,0,0,0,0,7,0,0,0,0,0,"; !strings.HasPrefix(got, want) {
		t.Errorf("got figures %s want %s first", got, want)
	}
}
