package limits

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestJudges_Changes plants answers to requests that were asked with the limit before or after a change.
func TestJudges_Changes(t *testing.T) {
	grant := func(then bool, from, to time.Duration, tokens int32) decision {
		base := int64(1_800_000_000_000_000_000) // on the border of an hour
		return decision{Outcome: answered, Then: then, Wanted: tokens, Granted: tokens, Asked: base + int64(from), Answered: base + int64(to)}
	}
	deny := func(then bool, at time.Duration) decision {
		d := grant(then, at, at, 0)
		d.Wanted = 1
		return d
	}
	const s = time.Second
	continuous, fixed := bucket.PerSecond(10).WithBurst(100), bucket.Limit{Capacity: 20, Period: time.Second, Algorithm: bucket.Fixed}
	for name, c := range map[string]struct {
		limit, then bucket.Limit
		h           history
		want        bool
	}{
		"the loosest limit": {continuous, bucket.PerSecond(10), history{grant(false, 0, s, 100), grant(true, s, 2*s, 20)}, false},
		"one more":          {continuous, bucket.PerSecond(10), history{grant(false, 0, s, 100), grant(true, s, 2*s, 21)}, true},
		"the capacity of one and the rate of the other": {
			bucket.PerSecond(100), bucket.Per(200, time.Minute), history{grant(false, 0, s, 200), grant(true, s, 2*s, 200)}, false,
		},
		"by two processes at once": {continuous, bucket.PerSecond(10), history{grant(true, 0, 0, 9), grant(false, 0, 0, 100)}, true},
		"all before the new limit": {
			bucket.PerSecond(10), continuous, history{grant(false, 0, 0, 11), grant(true, s, s, 5)}, true,
		},
		"all after the old limit": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 90), grant(true, s, s, 11)}, true,
		},
		"perhaps before the end of the old limit": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, s, 90), grant(true, s/2, s, 11)}, false,
		},
		"a killed process with the old limit": {
			continuous, bucket.PerSecond(10), history{{Outcome: pending, Wanted: 1, Asked: 1}, grant(true, s, s, 11)}, false,
		},
		"both algorithms":     {bucket.PerSecond(10), fixed, history{grant(false, 0, s/2, 25), grant(true, 0, s/2, 25)}, false},
		"one more of both":    {bucket.PerSecond(10), fixed, history{grant(false, 0, s/2, 25), grant(true, 0, s/2, 26)}, true},
		"a period afterwards": {continuous, fixed, history{grant(false, 0, 0, 1), grant(true, s, s+s/2, 21)}, true},
		"the new limit is used": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 1), deny(true, s), grant(true, s, 3*s, 20), deny(true, 3*s)}, false,
		},
		"the new limit is not used": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 1), deny(true, s), deny(true, s+s/4), deny(true, 3*s)}, true,
		},
		"a new period is not used": {continuous, fixed, history{grant(false, 0, s/2, 1), grant(true, s, s, 10), grant(true, 2*s, 2*s, 10), deny(true, 2*s+s/2)}, true},
	} {
		faults := judge{limit: c.limit.WithDefaults(), then: c.then.WithDefaults()}.change(c.h)
		if (len(faults) > 0) != c.want {
			t.Errorf("%s: got %q want a complaint: %v", name, faults, c.want)
		}
	}
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
