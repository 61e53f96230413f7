package storetest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func refillCases() []testCase {
	return []testCase{
		{"comes back evenly", refillEvenly},
		{"never above capacity", refillNoFurther},
		{"a fixed bucket is filled at once", refillAtOnce},
		{"fixed periods lie on one grid", refillOnGrid},
	}
}

// refillEvenly asks now and then of buckets that fill, some of them by a part of a nanosecond too little.
func refillEvenly(r *rig) {
	random := rand.New(rand.NewPCG(9, 2))
	for _, l := range []bucket.Limit{
		{Capacity: 5, Refill: 1, Period: 12 * time.Millisecond},
		{Capacity: 30, Refill: 3, Period: 10 * time.Millisecond},
	} {
		key := r.key(said(l))
		r.take(r.Store, key, l, l.Capacity, l.Capacity)
		for range 15 {
			r.Pause(time.Duration(random.Int64N(int64(10 * time.Millisecond))))
			r.take(r.Store, key, l, random.Int64N(3), 2+random.Int64N(4))
		}
	}
}

func refillNoFurther(r *rig) {
	for _, l := range []bucket.Limit{
		{Capacity: 3, Refill: 1, Period: 5 * time.Millisecond},
		{Capacity: 3, Refill: 3, Period: 5 * time.Millisecond, Algorithm: bucket.Fixed},
	} {
		key := r.key(said(l))
		for range 3 {
			r.take(r.Store, key, l, 1, 3)
			r.Pause(8*5*time.Millisecond + 2*time.Duration(r.resolution))
			if d := r.peek(r.Store, key, l).decision; d.Remaining != 3 || d.ResetAfter != 0 {
				r.Errorf("%s, after longer than it takes to fill: got %s, want it full", said(l), answer(d))
			}
			if d := r.take(r.Store, key, l, 1, math.MaxInt64).decision; d.Granted != 3 {
				r.Errorf("%s, after longer than it takes to fill: got %s, want 3 granted", said(l), answer(d))
			}
		}
	}
}

// refillAtOnce asks for more than there is, across some borders.
func refillAtOnce(r *rig) {
	l := bucket.Limit{Capacity: 4, Period: 30 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	key := r.key("fixed")
	for range 30 {
		r.take(r.Store, key, l, 1, 2)
		r.Pause(5 * time.Millisecond)
	}
}

// refillOnGrid looks where periods begin, of buckets that were first used at different times.
func refillOnGrid(r *rig) {
	const hour = int64(time.Hour)
	var first span
	for i, period := range []int64{hour, hour, hour / 3, hour / 4} {
		l := bucket.Limit{Capacity: 1 + int64(i), Period: time.Duration(period), Algorithm: bucket.Fixed}.WithDefaults()
		o := r.take(r.Store, r.key(said(l)), l, 1, 1)
		begins := o.window(r.resolution).moved(int64(o.decision.ResetAfter) - period)
		if i == 0 {
			first = begins
		}
		off := (begins.from - first.from) % period
		if off < 0 {
			off += period
		}
		room := first.to - first.from + begins.to - begins.from
		if off > room && period-off > room {
			r.Errorf("periods of an hour, and of %v: they begin %v apart, want a multiple of the shorter one, as on one grid",
				time.Duration(period), time.Duration(off))
		}
		r.Pause(40 * time.Millisecond)
	}
}
