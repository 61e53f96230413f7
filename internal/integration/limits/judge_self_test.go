package limits

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestJudges_planted gives the judges answers, with one token too many, or with tokens that were not used.
func TestJudges_planted(t *testing.T) {
	const s = time.Second
	grant := func(from, to time.Duration, tokens int32) decision {
		base := int64(1_800_000_000_000_000_000) // on the border of an hour
		return decision{Outcome: answered, Wanted: max(1, tokens), Granted: tokens, Asked: base + int64(from), Answered: base + int64(to)}
	}
	deny := func(at time.Duration) decision { return grant(at, at, 0) }
	continuous := judge{limit: bucket.PerSecond(10).WithBurst(100)}
	fixed := judge{limit: bucket.Limit{Capacity: 20, Period: s, Algorithm: bucket.Fixed}}
	for name, tt := range map[string]struct {
		complaint func(history) string
		h         history
		want      bool
	}{
		"the burst and two seconds": {continuous.just, history{grant(0, s, 100), grant(s, 2*s, 20)}, false},
		"one more":                  {continuous.just, history{grant(0, s, 100), grant(s, 2*s, 21)}, true},
		"of a killed process":       {continuous.just, history{{Outcome: pending, Wanted: 200, Asked: 1}, grant(0, s, 100)}, false},
		"used":                      {continuous.unused, history{grant(0, 0, 100), deny(0), grant(s, 3*s, 30), deny(3 * s)}, false},
		"not used":                  {continuous.unused, history{grant(0, 0, 100), deny(0), deny(s), deny(3 * s)}, true},
		"a period's":                {fixed.fixedTooMuch, history{grant(0, s/2, 20), grant(s, s, 20)}, false},
		"one more in a period":      {fixed.fixedTooMuch, history{grant(0, s/2, 20), grant(s/2, s/2, 1)}, true},
		"a period that is used":     {fixed.unused, history{grant(s, s, 20), deny(s + s/2)}, false},
		"a period that is not used": {fixed.unused, history{grant(s, s, 10), deny(s + s/2)}, true},
	} {
		if got := tt.complaint(tt.h); (got != "") != tt.want {
			t.Errorf("%s: got %q want a complaint: %v", name, got, tt.want)
		}
	}
}

func (j judge) just(h history) string { return j.tooMuch(h, 0) }

func (j judge) unused(h history) string {
	if j.limit.Algorithm == bucket.Fixed {
		return j.fixedUsed(h).tooLittle(0.99)
	}
	return j.used(h).tooLittle(0.99)
}

// TestJudges_ManyGrants has so many grants that the judge joins them.
func TestJudges_ManyGrants(t *testing.T) {
	j := judge{limit: bucket.PerSecond(10_000)}
	var h history
	for _, tokens := range []int32{1, 2} {
		h = h[:0]
		for at := range int64(50_000) {
			at *= int64(j.limit.Interval())
			h = append(h, decision{Outcome: answered, Granted: tokens, Asked: at, Answered: at})
		}
		if fault := j.tooMuch(h, 0); (fault != "") != (tokens > 1) {
			t.Errorf("%d for each: got complaint %q", tokens, fault)
		}
	}
}
