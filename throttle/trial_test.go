package throttle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// TestTrial shows a trial what it sees of errors and of load, with half of the calls shed.
func TestTrial(t *testing.T) {
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for name, c := range map[string]struct {
		before, fresh window.Counts // fresh each second
		want          verdict
		within        time.Duration
	}{
		"as many are rejected as before":       {tier(70, 30, 0), tier(14, 6, 20), isErrors, second(4)},
		"nothing is rejected any more":         {tier(60, 40, 0), tier(20, 0, 20), isLoad, second(4)},
		"more are rejected":                    {tier(70, 30, 0), tier(5, 15, 20), isLoad, second(4)},
		"few answers: the side that is nearer": {tier(16, 6, 0), tier(2, 1, 3), isErrors, second(6)},
		"nothing was held back":                {tier(70, 30, 0), tier(28, 12, 0), isLoad, second(31)},
		"many rejected, few answers":           {tier(12, 11, 0), tier(1, 1, 2), isDoubtful, second(5)},
		"few are rejected, and it stays open":  {tier(20, 5, 0), tier(0, 0, 20), isErrors, second(31)},
		"the same, and more calls come":        {tier(20, 5, 0), tier(0, 0, 480), isLoad, second(31)},
	} {
		var tr trial
		tr.begin(0, c.before, mostTried, 400)
		got := noVerdict
		at := second(1)
		for ; at <= c.within && got != isErrors && got != isLoad; at += time.Second {
			got = tr.look(at, c.fresh, c.fresh, c.fresh)
		}
		wantSame(t, name+": verdict", got, c.want)
	}
}

// TestTrial_nothingHeld decides by no rounding error if no call of a trial was held back, as with a single priority.
func TestTrial_nothingHeld(t *testing.T) {
	for answers := range uint64(200) {
		var tr trial
		tr.begin(0, tier(24+answers, (24+answers)/3, 0), mostTried, 400)
		wantSame(t, fmt.Sprint("verdict after ", answers), tr.look(5*time.Second, tier(2, 1, 0), tier(2, 1, 0), tier(2, 1, 0)), isDoubtful)
	}
}

// TestTrial_waits has the next trial later each time.
func TestTrial_waits(t *testing.T) {
	var tr trial
	for _, want := range []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute, 2 * time.Minute} {
		tr.begin(0, tier(70, 30, 0), mostTried, 400)
		wantSame(t, "next trial", tr.next, want)
	}
}

// TestTrial_limits begins no trial if the backend has said why it rejects. More demand is load, in a trial
// and for a while after it.
func TestTrial_limits(t *testing.T) {
	silent, explained := tier(70, 30, 0), window.Counts{Accepted: 70, Rejected: 30, Full: 20}
	if !canTell(&silent, mostTried) || canTell(&explained, mostTried) {
		t.Error("want a trial if the backend has said nothing, and only then")
	}
	var tr trial
	for demand, want := range map[float64]verdict{120: isDoubtful, 140: isLoad} {
		tr.begin(0, silent, mostTried, 100)
		got := tr.look(blockLength+time.Second, tier(0, 0, 0), tier(0, 0, 0), tier(uint64(demand), 0, 0))
		wantSame(t, fmt.Sprintf("verdict of %v calls instead of 100", demand), got, want)
		tr.find(0, 100)
		if tr.rises(time.Minute, demand) != (want == isLoad) || tr.rises(verdictTime, demand) {
			t.Errorf("%v calls after a verdict with 100: want a rise only if there are clearly more, and soon", demand)
		}
	}
}

// TestRelief needs failures without an accepted call between them, and then accepted calls.
func TestRelief(t *testing.T) {
	for name, c := range map[string]struct {
		answers string // a bucket each: a accepted, r rejected, b both, f rejected because the backend is full
		want    bool
	}{
		"all failed, all works":          {"aaaarrrrraaa", true},
		"buckets at the edges hold both": {"aaabrrrbaaa", true},
		"too few failed":                 {"aaaarrraaa", false},
		"too few work":                   {"aaaarrrrraa", false},
		"some worked meanwhile":          {"rrrrarrrraaa", false},
		"both in many buckets":           {"rbbbrraaa", false},
		"three say full":                 {"aaaafffaaa", true},
		"two say full":                   {"aaaaffraaa", false},
		"ten failed, two work":           {"aaaarrrrrrrrrraa", true},
		"nine failed, two work":          {"aaaarrrrrrrrraa", false},
		"ten failed, one works":          {"aaaarrrrrrrrrra", false},
		"some failed in an overload":     {"rarararaaaaaaaaaaarrrrraaa", false},
		"many failed in an overload":     {"rarararaaaaaaaaaaarrrrrrrrrraaa", true},
	} {
		var r relief
		span := tier(100, 100, 0)
		for _, a := range c.answers {
			fresh := map[rune]window.Counts{'a': tier(1, 0, 0), 'r': tier(0, 1, 0), 'b': tier(1, 1, 0), 'f': {Rejected: 1, Full: 1}}[a]
			r.add(&fresh, &span)
		}
		wantSame(t, name, r.isHere(time.Minute), c.want)
	}
}

// TestJoined finds errors only if the backend says of other rejections that it is full, and if fewer calls
// do not help.
func TestJoined(t *testing.T) {
	for name, c := range map[string]struct {
		saysFull bool
		since    window.Counts
		want     bool
	}{
		"fewer calls do not help":      {true, tier(75, 25, 300), true},
		"fewer calls help":             {true, tier(96, 4, 300), false},
		"the backend has said nothing": {false, tier(75, 25, 300), false},
		"the demand is another":        {true, tier(75, 25, 900), false},
	} {
		j := joined{saysFull: c.saysFull}
		before := tier(150, 50, 200)
		j.compare(&before, 0)
		ratio, found := j.compare(&c.since, 0)
		if found != c.want || found && (ratio < 0.2 || ratio > 0.25) {
			t.Errorf("%s: got %v, %.2f want %v", name, found, ratio, c.want)
		}
	}
}

// TestMonitor_relief sheds nothing any more when all works again after seconds of failures. The demand may have
// been larger meanwhile.
func TestMonitor_relief(t *testing.T) {
	for _, demand := range []float64{100, 150} {
		w := newWatched(t, Config{})
		w.play(time.Minute, 100, 0)
		w.play(2*time.Second, demand, 1)
		w.play(4*time.Second, 100, 0)
		if got := w.alerts(); !strings.HasSuffix(got, " none") || strings.Count(got, "none") != 1 {
			t.Fatalf("%v calls a second failed: got alerts %q want the end of one", demand, got)
		}
		if shed := w.play(20*time.Second, 100, 0); shed > 0 {
			t.Errorf("%v calls a second failed: %d calls were shed though all works", demand, shed)
		}
	}
}
