package stores_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func someLimit(draw *rand.Rand) bucket.Limit {
	l := bucket.Limit{Capacity: 1 + draw.Int64N(50), Refill: 1 + draw.Int64N(100), Period: time.Duration(1+draw.Int64N(1e11)) + time.Microsecond}
	switch draw.IntN(8) {
	case 0:
		l = bucket.Limit{Capacity: int64(10 * 366 * 24 * time.Hour), Refill: 1000, Period: time.Microsecond}
	case 1:
		l = bucket.Limit{Capacity: 10, Refill: 1, Period: 366 * 24 * time.Hour}
	case 2, 3, 4:
		l.Algorithm = bucket.Fixed
	case 5:
		l = bucket.Limit{Capacity: math.MaxInt64 - draw.Int64N(3), Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}
	}
	return l.WithDefaults()
}

// someLevel is one that the bucket may have, or that it cannot have without a step of the clock. It is of a limit that may differ.
func someLevel(draw *rand.Rand, l bucket.Limit, now int64) store.Level {
	switch draw.IntN(4) {
	case 0:
		if other := someLimit(draw); other.Validate() == nil {
			l = other
		}
	case 1:
		l.Capacity = 1 + draw.Int64N(l.Capacity)
	}
	v := store.Level{Capacity: l.Capacity}
	if draw.IntN(8) == 0 {
		v.Other = store.Other{At: now + draw.Int64N(2e12) - 1e12, Interval: 1 + draw.Int64N(1e9), Capacity: 1 + draw.Int64N(100)}
	}
	if l.Algorithm == bucket.Fixed {
		begins := now - now%int64(l.Period)
		at := []int64{begins, begins, begins, begins - int64(l.Period), begins + int64(l.Period), now + 3*int64(l.Period), math.MaxInt64, 0}
		used := []int64{0, draw.Int64N(l.Capacity), l.Capacity, l.Capacity - 1, math.MaxInt64, 2*min(l.Capacity, 1e9) + 1}
		v.At, v.Used, v.Period = at[draw.IntN(len(at))], used[draw.IntN(len(used))], int64(l.Period)
		return v
	}
	burst := l.Capacity * int64(l.Interval())
	at := []int64{now + draw.Int64N(burst), now + draw.Int64N(burst), now + burst, now + 2*burst, now - draw.Int64N(now), math.MaxInt64, 0, -1}
	v.At, v.Interval = at[draw.IntN(len(at))], int64(l.Interval())
	return v
}

// matchesLevel makes random requests, and compares answer and row with store.Level at a time between the
// beginning and the end of the request.
func (e *engine) matchesLevel(t *testing.T) {
	b := e.buckets(t, e.dsn(t), fmt.Sprint("levels ", e.last.Add(1)), "levels_")
	for seed := range uint64(short(60, 250)) {
		draw := rand.New(rand.NewPCG(seed, 9))
		l, key := someLimit(draw), fmt.Sprint(seed)
		if err := l.Validate(); err != nil {
			continue
		}
		for step := range 6 {
			if draw.IntN(2) == 0 && step > 0 {
				b.put(t, key, someLevel(draw, l, b.now(t)))
			}
			old, before := b.level(t, key), b.now(t)
			if draw.IntN(4) == 0 {
				b.returnsAsLevel(t, fmt.Sprintf("seed %d, step %d", seed, step), key, l, old, []int64{1, 1 + draw.Int64N(l.Capacity), math.MaxInt64}[draw.IntN(3)])
				continue
			}
			r := store.Request{Key: key, Limit: l, Min: draw.Int64N(min(l.Capacity, 8) + 1)}
			r.Max = r.Min + draw.Int64N(5)
			switch draw.IntN(6) {
			case 0:
				r.Min, r.Max = l.Capacity, l.Capacity
			case 1:
				r.Max = math.MaxInt64
			case 2:
				r.Min, r.Max = 0, 0
			}
			d, err := b.Take(t.Context(), r)
			if err != nil {
				t.Fatalf("seed %d, step %d: %+v of %+v: %v", seed, step, r, old, err)
			}
			if next, after := b.level(t, key), b.now(t); !explained(b.e.step(), r, old, next, d, before, after) {
				_, want := old.Take(l, before, r.Min, r.Max)
				t.Fatalf("seed %d, step %d, %+v\nof %+v\ngot %+v and %+v\nbut at the time before %+v", seed, step, r, old, d, next, want)
			}
		}
	}
}

// neverNegative takes from Fixed buckets with invalid rows, which count as full.
func (e *engine) neverNegative(t *testing.T) {
	b := e.buckets(t, e.dsn(t), fmt.Sprint("negative ", e.last.Add(1)), "negative_")
	for _, used := range []int64{-1, -3, math.MinInt64} {
		for _, capacity := range []int64{3, math.MaxInt64} {
			key, l := fmt.Sprint(used, capacity), lasting(capacity, bucket.Fixed)
			now := b.now(t)
			b.put(t, key, store.Level{At: now - now%int64(l.Period), Used: used, Period: int64(l.Period), Capacity: capacity})
			if err := b.Return(t.Context(), key, l, 1); err != nil {
				t.Errorf("%d used of %d: return: got %v want nil", used, capacity, err)
			}
			for i, most := range []int64{2, math.MaxInt64, 1} {
				want := []int64{2, capacity - 2, 0}[i]
				d, err := b.Take(t.Context(), store.Request{Key: key, Limit: l, Max: most})
				if err != nil || d.Granted != want {
					t.Errorf("%d used of %d: take %d: got %+v, %v want %d granted", used, capacity, most, d, err, want)
				}
			}
		}
	}
}

// step returns the resolution of the database's clock.
func (e *engine) step() time.Duration {
	if e.dialect == sqlstore.SQLite {
		return time.Millisecond
	}
	return time.Microsecond
}

// explained reports whether there is a time, from before to after, at which the reference gives this answer and leaves this level. A RetryAfter
// is of whole steps. A level of another limit leaves no trace of the time, so that all of its steps are tried.
func explained(step time.Duration, r store.Request, old, next store.Level, d bucket.Decision, before, after int64) bool {
	period := int64(r.Limit.Period)
	times := []int64{before, after, next.At - int64(d.ResetAfter), next.At + period - int64(d.ResetAfter), old.At - int64(d.ResetAfter)}
	times = append(times, old.FullAt()-int64(d.ResetAfter), next.FullAt()-int64(d.ResetAfter)) // also of a debt of many periods
	left := (period - int64(d.ResetAfter)%period) % period
	times = append(times, before-before%period+left, after-after%period+left)
	for now := before; now <= after && len(times) < 50_000; now += int64(step) {
		times = append(times, now)
	}
	return slices.ContainsFunc(times, func(now int64) bool {
		if now < before || now > after {
			return false
		}
		level, want := old.Take(r.Limit, now, r.Min, r.Max)
		want.RetryAfter = (want.RetryAfter + step - 1) / step * step
		return want == d && level == next
	})
}

func (b buckets) returnsAsLevel(t *testing.T, what, key string, l bucket.Limit, old store.Level, n int64) {
	t.Helper()
	before := b.now(t)
	if err := b.Return(t.Context(), key, l, n); err != nil {
		t.Fatalf("%s: return %d: %v", what, n, err)
	}
	next, after := b.level(t, key), b.now(t)
	first, last := old.Return(l, before, n), old.Return(l, after, n)
	good := next == first || next == last
	if old.Period == 0 { // a full one is full, whenever it became so
		good = good || next.At >= first.At && next.At <= last.At || next.At <= after && first.Full(l, after) && last.Full(l, after)
	}
	if !good {
		t.Fatalf("%s: return %d of %+v, %+v: got %+v want %+v to %+v", what, n, l, old, next, first, last)
	}
}
