package stores_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// leveled is a bucket store whose levels can be read and written.
type leveled interface {
	store.Store
	put(t testing.TB, key string, v store.Level)
	level(t testing.TB, key string) store.Level
	now(t testing.TB) int64
	step() time.Duration // resolution of the clock
	forgets() bool       // whether a full bucket leaves no level
}

// someLimit is of any size. Some are just below and some just above what the scripts of Redis compute with.
func someLimit(draw *rand.Rand) bucket.Limit {
	l := bucket.Limit{Capacity: 1 + draw.Int64N(50), Refill: 1 + draw.Int64N(100), Period: time.Duration(1+draw.Int64N(1e11)) + time.Microsecond}
	if draw.IntN(2) == 0 {
		l.Period = l.Period.Truncate(time.Microsecond)
	}
	switch draw.IntN(8) {
	case 0:
		l = bucket.Limit{Capacity: int64(10 * 366 * 24 * time.Hour), Refill: 1000, Period: time.Microsecond}
	case 1:
		l = bucket.Limit{Capacity: 10, Refill: 1, Period: 366 * 24 * time.Hour}
	case 2, 3, 4:
		l.Algorithm = bucket.Fixed
	case 5:
		l = bucket.Limit{Capacity: math.MaxInt64 - draw.Int64N(3), Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}
		if draw.IntN(2) == 0 {
			l.Capacity = 1 + draw.Int64N(1<<53)
		}
	case 6:
		l.Capacity, l.Refill, l.Period = 1+draw.Int64N(9e6), 1, time.Second
	}
	return l.WithDefaults()
}

// someLevel is one that the bucket may have, or that it cannot have without a step of the clock. In a database, its use may be less than
// none. It is of a limit that may differ.
func someLevel(draw *rand.Rand, b leveled, l bucket.Limit, now int64) store.Level {
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
		if _, inRedis := b.(redisLevels); !inRedis {
			used = append(used, -1, -3, math.MinInt64)
		}
		v.At, v.Used, v.Period = at[draw.IntN(len(at))], used[draw.IntN(len(used))], int64(l.Period)
		return v
	}
	burst := l.Capacity * int64(l.Interval())
	at := []int64{now + draw.Int64N(burst), now + draw.Int64N(burst), now + burst, now + 2*burst, now - draw.Int64N(now), math.MaxInt64, 0, -1}
	v.At, v.Interval = at[draw.IntN(len(at))], int64(l.Interval())
	return v
}

// matchesLevel makes random requests, and compares answer and level with store.Level at a time between the
// beginning and the end of the request.
func matchesLevel(t *testing.T, b leveled, seeds int) {
	for seed := range uint64(seeds) {
		draw := rand.New(rand.NewPCG(seed, 9))
		l, key := someLimit(draw), fmt.Sprint(seed)
		if err := l.Validate(); err != nil {
			continue
		}
		for step := range 6 {
			if draw.IntN(2) == 0 && step > 0 {
				b.put(t, key, someLevel(draw, b, l, b.now(t)))
			}
			old, before := b.level(t, key), b.now(t)
			if draw.IntN(4) == 0 {
				returnsAsLevel(t, b, fmt.Sprintf("seed %d, step %d", seed, step), key, l, old, []int64{1, 1 + draw.Int64N(l.Capacity), math.MaxInt64}[draw.IntN(3)])
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
			if next, after := b.level(t, key), b.now(t); !explained(b, r, old, next, d, before, after) {
				_, want := old.Take(l, before, r.Min, r.Max)
				t.Fatalf("seed %d, step %d, %+v\nof %+v\ngot %+v and %+v\nbut at the time before %+v", seed, step, r, old, d, next, want)
			}
		}
	}
}

// matchesLevel does so with a database, which is slower than Redis.
func (e *engine) matchesLevel(t *testing.T) {
	matchesLevel(t, e.buckets(t, e.dsn(t), fmt.Sprint("levels ", e.last.Add(1)), "levels_"), short(60, 250))
}

// explained reports whether there is a time, from before to after, at which the reference gives this answer and leaves this level. A RetryAfter
// may be of whole steps. A level of another limit leaves no trace of the time, so that all of its steps are tried.
func explained(b leveled, r store.Request, old, next store.Level, d bucket.Decision, before, after int64) bool {
	period, step := int64(r.Limit.Period), b.step()
	agrees := func(now int64) bool {
		if now < before || now > after {
			return false
		}
		level, want := old.Take(r.Limit, now, r.Min, r.Max)
		rounded := want
		rounded.RetryAfter = (want.RetryAfter + step - 1) / step * step
		return (want == d || rounded == d) && (level == next || forgotten(b, level, next, after))
	}
	left := (period - int64(d.ResetAfter)%period) % period
	likely := []int64{
		before, after, next.At - int64(d.ResetAfter), next.At + period - int64(d.ResetAfter), old.At - int64(d.ResetAfter),
		old.FullAt() - int64(d.ResetAfter), next.FullAt() - int64(d.ResetAfter), // also of a debt of many periods
		before - before%period + left, after - after%period + left,
	}
	if slices.ContainsFunc(likely, agrees) {
		return true
	}
	for now := before; now <= after; now += int64(step) {
		if agrees(now) {
			return true
		}
	}
	return false
}

// forgotten reports whether a level is gone because the bucket is full.
func forgotten(b leveled, level, next store.Level, now int64) bool {
	return b.forgets() && next == store.Level{} && level.FullAt() <= now
}

func returnsAsLevel(t *testing.T, b leveled, what, key string, l bucket.Limit, old store.Level, n int64) {
	t.Helper()
	before := b.now(t)
	if err := b.Return(t.Context(), key, l, n); err != nil {
		t.Fatalf("%s: return %d: %v", what, n, err)
	}
	next, after := b.level(t, key), b.now(t)
	first, last := old.Return(l, before, n), old.Return(l, after, n)
	good := next == first || next == last || forgotten(b, last, next, after)
	if old.Period == 0 { // a full one is full, whenever it became so
		good = good || next.At >= first.At && next.At <= last.At || next.At <= after && first.Full(l, after) && last.Full(l, after)
	}
	if !good {
		t.Fatalf("%s: return %d of %+v, %+v: got %+v want %+v to %+v", what, n, l, old, next, first, last)
	}
}

// redisLevels is a store in Redis, and its keys.
type redisLevels struct {
	*redisstore.Bucket
	client redis.UniversalClient
}

func (b redisLevels) step() time.Duration { return time.Microsecond }

func (b redisLevels) forgets() bool { return true }

func (b redisLevels) now(t testing.TB) int64 { return b.client.Time(t.Context()).Val().UnixNano() }

func (b redisLevels) put(t testing.TB, key string, v store.Level) {
	t.Helper()
	entry := func(e store.Other) string {
		if e.Period > 0 {
			return fmt.Sprintf("%019d f%d %d %d", e.At, e.Period, e.Capacity, e.Used)
		}
		return fmt.Sprintf("%019d c%d %d 0", e.At, e.Interval, e.Capacity)
	}
	text := entry(store.Other{At: v.At, Used: v.Used, Interval: v.Interval, Period: v.Period, Capacity: v.Capacity})
	if v.Other == (store.Other{}) {
		text += " 0"
	} else {
		text += " " + entry(v.Other) + " 1"
	}
	must(t, b.client.Set(t.Context(), "spillway:bucket:b:"+key, text, 0).Err())
}

// level reads what put and the store write. A time below 0 is no level.
func (b redisLevels) level(t testing.TB, key string) (v store.Level) {
	t.Helper()
	fields := strings.Fields(b.client.Get(t.Context(), "spillway:bucket:b:"+key).Val())
	if len(fields) == 0 || fields[0][0] == '-' {
		return v
	}
	entry := func(fields []string) (e store.Other) {
		unit := &e.Interval
		if fields[1][0] == 'f' {
			unit = &e.Period
		}
		if _, err := fmt.Sscanf(fields[0]+" "+fields[1][1:]+" "+fields[2]+" "+fields[3], "%d %d %d %d", &e.At, unit, &e.Capacity, &e.Used); err != nil {
			t.Fatal(fields, err)
		}
		return e
	}
	e := entry(fields)
	v = store.Level{At: e.At, Used: e.Used, Interval: e.Interval, Period: e.Period, Capacity: e.Capacity}
	if len(fields) == 9 {
		v.Other = entry(fields[4:])
	}
	return v
}

// TestRedisBucket_Levels also covers the steps that a script leaves to the client.
func TestRedisBucket_Levels(t *testing.T) {
	_, client, b := newRedisBucket(t)
	matchesLevel(t, redisLevels{b, client}, short(1000, 10_000))
}
