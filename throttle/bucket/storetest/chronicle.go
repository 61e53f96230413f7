package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func historyCases() []testCase {
	return []testCase{
		{"can be put in order", eachAlgorithm(historyOfLasting)},
		{"can be put in order while tokens come back", historyOfRefills},
		{"can be put in order across periods", historyOfPeriods},
	}
}

// scenario is what many do with one bucket at once.
type scenario struct {
	limit         bucket.Limit
	workers, each int
}

// plays lets the workers do what comes to their minds, and wants that it can have happened.
func (r *rig) plays(handles []store.Store, sc scenario, seed uint64) {
	r.Helper()
	h, key := NewHistory(), r.key(fmt.Sprint("history ", sc.limit.Algorithm, seed))
	stores := make([]store.Store, len(handles))
	for i, s := range handles {
		stores[i] = h.Of(s)
	}
	r.Together(sc.workers, func(i int) error {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		s := stores[i%len(stores)]
		for range sc.each {
			if err := r.acts(s, key, sc.limit, random); err != nil {
				return err
			}
		}
		return nil
	})
	if err := h.Check(time.Duration(r.resolution)); err != nil && !errors.Is(err, ErrUndecided) {
		r.Errorf("%d workers with %d operations each: %v", sc.workers, sc.each, err)
	}
}

// acts does one of all things that can be done.
func (r *rig) acts(s store.Store, key string, l bucket.Limit, random *rand.Rand) error {
	o := operation{request: store.Request{Key: key, Limit: l}}
	switch n := random.IntN(16); {
	case n == 0:
		o.kind = reset
	case n <= 4:
		o.kind, o.request.Max = giveBack, 1+random.Int64N(2)
	case n <= 5: // a peek
	default:
		o.request.Min = random.Int64N(3)
		o.request.Max = o.request.Min + random.Int64N(3)
	}
	if o = r.do(r.Context(), s, o); o.err != nil {
		return fmt.Errorf("%v: got error %w, want none", o, o.err)
	}
	return nil
}

// playsAll lets them do so again and again, each time with another bucket.
func (r *rig) playsAll(sc scenario) {
	r.Helper()
	const histories = 3
	handles := r.Handles(3)
	for seed := range uint64(histories) {
		r.plays(handles, sc, seed)
	}
}

func historyOfLasting(r *rig, a bucket.Algorithm) {
	r.playsAll(scenario{limit: lasting(12, a), workers: 6, each: 30})
}

func historyOfRefills(r *rig) {
	r.playsAll(scenario{limit: bucket.Limit{Capacity: 12, Refill: 1, Period: 10 * time.Millisecond}, workers: 6, each: 30})
}

func historyOfPeriods(r *rig) {
	l := bucket.Limit{Capacity: 40, Period: 60 * time.Millisecond, Algorithm: bucket.Fixed}
	r.playsAll(scenario{limit: l.WithDefaults(), workers: 6, each: 30})
}
