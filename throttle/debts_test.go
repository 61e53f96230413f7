package throttle

import (
	"math"
	"testing"
)

// TestTheWorstOfTheSuffixes puts a debt into one suffix and looks whether it counts.
func TestTheWorstOfTheSuffixes(t *testing.T) {
	worst := func(age int, by debts) debts {
		d := debts{span: math.Inf(-1), recent: math.Inf(-1)}
		for a := range bucketsPerWindow + 1 {
			if a == age {
				d.worsen(by, a)
			} else {
				d.worsen(debts{}, a)
			}
		}
		return d
	}
	all := debts{span: 1, target: 1, recent: 1}
	for age, want := range map[int]debts{
		0:                                    {span: 1, recent: 1},
		recentBuckets:                        {span: 1, recent: 1},
		recentBuckets + 1:                    {span: 1},
		bucketsPerWindow / 2:                 {span: 1},
		bucketsPerWindow - recentBuckets - 1: {span: 1},
		bucketsPerWindow - recentBuckets:     {span: 1, target: 1}, // the newest of it is recent for the last time
		bucketsPerWindow:                     {span: 1, target: 1},
	} {
		if got := worst(age, all); got != want {
			t.Errorf("a debt of the suffix of %d buckets: got %+v, want %+v", age, got, want)
		}
	}
	young := debts{target: -1}
	young.worsen(debts{target: 3}, 0)
	young.worsen(debts{target: 2}, 1)
	if young.target != 2 {
		t.Errorf("in a window that is not full yet the whole counts: got %v, want 2", young.target)
	}
}
