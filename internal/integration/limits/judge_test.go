package limits

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// A judge checks the answers of a bucket, independent of the store. A decision was taken at some time
// between request and answer, so the judge reports only answers that were wrong at each of these times.
// A request without an answer, or with an error, may have taken tokens. Speed is not checked.
type judge struct {
	limit bucket.Limit
	tick  time.Duration // resolution of the store's clock
}

// history is the answers about one bucket.
type history []decision

func (h history) that(keep func(decision) bool) history {
	var kept history
	for _, d := range h {
		if keep(d) {
			kept = append(kept, d)
		}
	}
	return kept
}

// asked returns the decisions that were asked for after a time.
func (h history) asked(after int64) history {
	return h.that(func(d decision) bool { return d.Asked > after })
}

func granted(d decision) bool { return d.Outcome == answered && d.Granted > 0 }

// emptied reports whether the bucket had less than the wanted tokens.
func emptied(d decision) bool { return d.Outcome == answered && d.Granted < d.Wanted }

// unknown reports whether the request may have taken tokens without an answer.
func unknown(d decision) bool { return d.Outcome == pending || d.Outcome == failed }

func fromStore(d decision) bool { return d.Source != bucket.SourcePolicy }

func byAnswered(a, b decision) int { return cmp.Compare(a.Answered, b.Answered) }

// most is the most tokens that may be granted in a time: the burst, and what is refilled meanwhile.
func (j judge) most(d int64) float64 {
	return float64(j.limit.Capacity) + float64(d+int64(j.tick))/float64(j.limit.Interval())
}

// coarse returns the grants by time. It joins neighbors if there are too many grants to compare each with
// each: a joined grant was certainly in an interval if all its parts were.
func (h history) coarse() history {
	const most = 3000
	slices.SortFunc(h, byAnswered)
	var joined history
	for part := range slices.Chunk(h, len(h)/most+1) {
		one := part[0]
		for _, d := range part[1:] {
			one.Asked, one.Answered, one.Granted = min(one.Asked, d.Asked), max(one.Answered, d.Answered), one.Granted+d.Granted
		}
		joined = append(joined, one)
	}
	return joined
}

// tooMuch checks each interval between two grants. It reports the interval with the largest excess over
// the bound and beyond, counting only grants that were certainly in the interval.
func (j judge) tooMuch(h history, beyond int64) string {
	grants := h.that(granted).coarse()
	worst, fault := 1e-6, "" // of a token: the arithmetic is inexact
	for _, first := range grants {
		tokens := int64(0)
		for _, last := range grants {
			if last.Asked < first.Asked {
				continue
			}
			tokens += int64(last.Granted)
			if float64(tokens) < worst {
				continue
			}
			d := last.Answered - first.Asked
			if excess := float64(tokens) - j.most(d) - float64(beyond); excess > worst {
				worst = excess
				fault = fmt.Sprintf("%d tokens in %v, %.2f too many", tokens, time.Duration(d), excess)
			}
		}
	}
	return fault
}

// use is the part of its budget that a bucket has granted. perhaps is the number of tokens of requests
// that are unknown.
type use struct {
	budget          float64
	tokens, perhaps int64
}

func (u use) String() string {
	return fmt.Sprintf("%d tokens, and perhaps %d, of a budget of at least %.1f: %.2f %%", u.tokens, u.perhaps, u.budget, 100*float64(u.tokens)/u.budget)
}

// tooLittle returns a complaint if less than a part of the budget was used.
func (u use) tooLittle(part float64) string {
	if float64(u.tokens+u.perhaps) < part*u.budget {
		return u.String()
	}
	return ""
}

// used returns the use of a bucket that began full.
func (j judge) used(h history) (u use) {
	var until int64
	u.budget, until = j.budget(h)
	for _, d := range h {
		switch {
		case d.Asked > until:
		case unknown(d):
			u.perhaps += int64(d.Wanted)
		case granted(d):
			u.tokens += int64(d.Granted)
		}
	}
	return u
}

// budget returns the least number of tokens that were available until the last denial by an empty
// bucket. Between two such denials all refilled tokens must have been granted, if there was no time to
// fill the bucket. Only such intervals count, so there is no budget unless demand exceeds the limit.
func (j judge) budget(h history) (budget float64, until int64) {
	interval := int64(j.limit.Interval())
	fill := interval * j.limit.Capacity
	finds := h.that(func(d decision) bool { return emptied(d) && d.Answered-d.Asked < fill/4 })
	if len(finds) == 0 {
		return 0, 0
	}
	slices.SortFunc(finds, byAnswered)
	ran, begun := int64(0), finds[0]
	for i, d := range finds[1:] {
		before := finds[i]
		if max(d.Answered, before.Answered)-min(d.Asked, before.Asked) >= fill-2*interval {
			ran += max(0, before.Asked-begun.Answered-int64(j.tick))
			begun = d
		}
	}
	last := finds[len(finds)-1]
	ran += max(0, last.Asked-begun.Answered-int64(j.tick))
	return float64(j.limit.Capacity) + float64(ran)/float64(interval), last.Answered
}

// TestJudge_planted gives the judge answers with one token too many, or with tokens that were not used.
func TestJudge_planted(t *testing.T) {
	const s = time.Second
	grant := func(from, to time.Duration, tokens int32) decision {
		base := int64(1_800_000_000_000_000_000)
		return decision{Outcome: answered, Wanted: max(1, tokens), Granted: tokens, Asked: base + int64(from), Answered: base + int64(to)}
	}
	deny := func(at time.Duration) decision { return grant(at, at, 0) }
	many := func(tokens int32) (h history) { // so many that the judge joins them
		for at := range 50_000 {
			h = append(h, grant(time.Duration(at)*s/10, time.Duration(at)*s/10, tokens))
		}
		return h
	}
	j := judge{limit: bucket.PerSecond(10).WithBurst(100)}
	tooMuch := func(h history) string { return j.tooMuch(h, 0) }
	unused := func(h history) string { return j.used(h).tooLittle(0.99) }
	for name, tt := range map[string]struct {
		complaint func(history) string
		h         history
		want      bool
	}{
		"the burst and two seconds": {tooMuch, history{grant(0, s, 100), grant(s, 2*s, 20)}, false},
		"one more":                  {tooMuch, history{grant(0, s, 100), grant(s, 2*s, 21)}, true},
		"of a killed process":       {tooMuch, history{{Outcome: pending, Wanted: 200, Asked: 1}, grant(0, s, 100)}, false},
		"used":                      {unused, history{grant(0, 0, 100), deny(0), grant(s, 3*s, 30), deny(3 * s)}, false},
		"not used":                  {unused, history{grant(0, 0, 100), deny(0), deny(s), deny(3 * s)}, true},
		"many":                      {tooMuch, many(1), false},
		"twice as many":             {tooMuch, many(2), true},
	} {
		if got := tt.complaint(tt.h); (got != "") != tt.want {
			t.Errorf("%s: got %q want a complaint: %v", name, got, tt.want)
		}
	}
}
