package statusz

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestLoad_words keeps the worst word of the open members of a row.
func TestLoad_words(t *testing.T) {
	member := func(tells, overloaded bool, h throttle.HeardStats) *memberStats {
		m := &memberStats{ok: true}
		m.stats.Tells, m.stats.Load.Overloaded, m.stats.Heard = tells, overloaded, h
		return m
	}
	var r rowStats
	for _, step := range []struct {
		m           *memberStats
		told, heard string
	}{
		{member(false, false, throttle.HeardStats{}), "", ""},
		{member(true, false, throttle.HeardStats{}), "calm", ""},
		{member(false, false, throttle.HeardStats{Known: true, Calm: true}), "calm", "calm"},
		{member(false, false, throttle.HeardStats{Known: true}), "calm", "mixed"},
		{member(true, true, throttle.HeardStats{Known: true, Overloaded: true}), "overloaded", "overloaded"},
		{member(true, false, throttle.HeardStats{Known: true, Doubted: true}), "overloaded", "overloaded"},
	} {
		r = r.with(step.m, true)
		doc := documentOf(&r)
		if doc.LoadTold != step.told || doc.LoadHeard != step.heard {
			t.Errorf("got told %q and heard %q, want %q and %q", doc.LoadTold, doc.LoadHeard, step.told, step.heard)
		}
	}
	closed := rowStats{}.with(member(true, true, throttle.HeardStats{Known: true}), false)
	if closed.told != "" || closed.heard != "" {
		t.Errorf("a closed member: got %q and %q", closed.told, closed.heard)
	}
	doc := documentOf(&r)
	if head := string(encodeHead(&doc)); !strings.Contains(head, `"load_told":"overloaded","load_heard":"overloaded"`) {
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
