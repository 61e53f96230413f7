package storetest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// invented returns a history that is linearizable: operations overlap, and each takes effect at a
// time during its call.
func invented(random *rand.Rand, l bucket.Limit, n int) []operation {
	var all []operation
	var v store.Level
	now := int64(1_800_000_000_000_000_000)
	origin := now
	for range n {
		now += random.Int64N(2_000_000)
		o := operation{
			request: store.Request{Limit: l, Min: random.Int64N(3)},
			called:  now - origin - random.Int64N(6_000_000), returned: now - origin + random.Int64N(6_000_000),
		}
		o.request.Max = o.request.Min + random.Int64N(3)
		switch random.IntN(12) {
		case 0:
			o.kind, v = reset, store.Level{}
		case 1, 2:
			o.kind, v = giveBack, v.Return(l, now, o.request.Max)
		default:
			// The clock is read before the operation takes effect.
			read := max(now-random.Int64N(500_000), origin+o.called)
			v, o.decision = v.Take(l, read, o.request.Min, o.request.Max)
		}
		o.begun, o.ended = o.called, o.returned
		all = append(all, o)
	}
	return all
}

func check(all []operation) error {
	h := NewHistory()
	h.operations = all
	return h.Check(time.Nanosecond)
}

func someLimits() []bucket.Limit {
	return []bucket.Limit{
		slowLimit(12, bucket.Continuous), slowLimit(12, bucket.Fixed),
		{Capacity: 6, Refill: 1, Period: 3 * time.Millisecond},
		bucket.Limit{Capacity: 20, Period: 40 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults(),
	}
}

// TestCheck_AcceptsLinearizableHistories generates histories for which there is an order.
func TestCheck_AcceptsLinearizableHistories(t *testing.T) {
	undecided, seeds := 0, 200
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		for _, l := range someLimits() {
			err := check(invented(rand.New(rand.NewPCG(seed, 1)), l, 100))
			if errors.Is(err, ErrUndecided) {
				undecided++
			} else if err != nil {
				t.Fatalf("seed %d, %s: got %v want none", seed, describe(l), err)
			}
		}
	}
	if undecided > seeds/20 {
		t.Errorf("got %d of %d undecided want few", undecided, 4*seeds)
	}
}

// TestCheck_AcceptsAStatementThatWaited has a call whose clock was read before two periods began that others have
// counted in, as of a statement that waits for a row.
func TestCheck_AcceptsAStatementThatWaited(t *testing.T) {
	l := bucket.Limit{Capacity: 5, Period: 60 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	const origin = int64(1_800_000_000_000_000_000)
	var v store.Level
	call := func(called, read, returned time.Duration) operation {
		o := operation{request: store.Request{Limit: l, Min: 1, Max: 1}, called: int64(called), returned: int64(returned)}
		o.begun, o.ended = o.called, o.returned
		v, o.decision = v.Take(l, origin+int64(read), 1, 1)
		return o
	}
	const ms = time.Millisecond
	all := []operation{call(0, ms, 2*ms), call(195*ms, 196*ms, 197*ms), call(10*ms, 12*ms, 210*ms)}
	if err := check(all); err != nil {
		t.Errorf("got %v want none", err)
	}
	all[2].decision.Remaining++
	if check(all) == nil {
		t.Error("a wrong answer was accepted")
	}
}

// TestCheck_RejectsAWrongAnswer changes one answer of such a history, as if one more token had been
// left.
func TestCheck_RejectsAWrongAnswer(t *testing.T) {
	found, tried, seeds := 0, 0, 60
	if testing.Short() {
		seeds = 15
	}
	for seed := range uint64(seeds) {
		for _, l := range someLimits()[:2] {
			random := rand.New(rand.NewPCG(seed, 2))
			all := invented(random, l, 80)
			i := 20 + random.IntN(40)
			if all[i].kind != take || all[i].decision.Granted == 0 {
				continue
			}
			tried++
			d := &all[i].decision // as if an earlier request had taken one token less
			d.Remaining++
			if l.Algorithm == bucket.Continuous {
				d.ResetAfter -= l.Interval()
			}
			if err := check(all); err != nil {
				found++
				if text := err.Error(); !errors.Is(err, ErrUndecided) && (!strings.Contains(text, "but then not Take") || !strings.Contains(text, "want ")) {
					t.Errorf("got %v want the operation that does not fit", err)
				}
			}
		}
	}
	// A token that was returned at the same time may explain the answer.
	if tried < seeds/3 || found < tried*8/10 {
		t.Errorf("got %d of %d found want most", found, tried)
	}
}

// TestCheck_ReturnsTheErrorOfAnOperation: the operation may have taken effect or not.
func TestCheck_ReturnsTheErrorOfAnOperation(t *testing.T) {
	why := errors.New("no connection")
	if err := check([]operation{{request: store.Request{Limit: slowLimit(1, bucket.Fixed)}, err: why}}); !errors.Is(err, why) {
		t.Errorf("got %v want %v", err, why)
	}
}
