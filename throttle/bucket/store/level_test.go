package store

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// exact is a Continuous bucket in exact arithmetic: the tokens in it, as a fraction, at one per interval.
type exact struct {
	tokens *big.Rat
	at     int64 // when they were counted; it never goes back
}

func (e *exact) advance(l Limit, now int64) {
	if now <= e.at {
		return
	}
	e.tokens.Add(e.tokens, big.NewRat(now-e.at, int64(l.Interval())))
	if full := big.NewRat(l.Capacity, 1); e.tokens.Cmp(full) > 0 {
		e.tokens = full
	}
	e.at = now
}

// TestLevel_ContinuousAgainstAnExactModel plays random requests with a clock that moves on, and
// compares each decision.
func TestLevel_ContinuousAgainstAnExactModel(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		draw := rand.New(rand.NewPCG(seed, 1))
		l := Limit{Capacity: 1 + draw.Int64N(50), Refill: 1 + draw.Int64N(100), Period: time.Duration(1+draw.Int64N(1e9)) + time.Microsecond}
		if l.Validate() != nil {
			continue
		}
		now := int64(1.8e18)
		model := exact{tokens: big.NewRat(l.Capacity, 1), at: now}
		var v Level
		for step := range 200 {
			now += draw.Int64N(int64(l.Interval()) * 3)
			model.advance(l, now)
			atLeast := draw.Int64N(l.Capacity + 1)
			atMost := atLeast + draw.Int64N(l.Capacity+1)
			next, d := v.Take(l, now, atLeast, atMost)
			have := new(big.Int).Quo(model.tokens.Num(), model.tokens.Denom()).Int64()
			want := min(atMost, have)
			if want < atLeast {
				want = 0
			}
			if d.Granted != want || d.Allowed != (have >= atLeast) {
				t.Fatalf("seed %d, step %d, %+v: take %d to %d of %v: got %+v", seed, step, l, atLeast, atMost, model.tokens, d)
			}
			if !d.Allowed {
				checkRetry(t, v, l, now, atLeast, d)
			}
			model.tokens.Sub(model.tokens, big.NewRat(d.Granted, 1))
			v = next
		}
	}
}

// checkRetry checks that RetryAfter is long enough, and that a nanosecond less is not.
func checkRetry(t *testing.T, v Level, l Limit, now, n int64, d Decision) {
	t.Helper()
	if _, then := v.Take(l, now+int64(d.RetryAfter), n, n); !then.Allowed {
		t.Fatalf("%+v: %d tokens after %v: denied still", l, n, d.RetryAfter)
	}
	if _, then := v.Take(l, now+int64(d.RetryAfter)-1, n, n); then.Allowed {
		t.Fatalf("%+v: %d tokens after %v: granted a nanosecond before", l, n, d.RetryAfter)
	}
}

func TestLevel_Fixed(t *testing.T) {
	l := Limit{Capacity: 3, Period: time.Second, Algorithm: Fixed}
	second := int64(time.Second)
	steps := []struct {
		now              int64
		atLeast, atMost  int64
		granted          int64
		remaining        int64
		allowed          bool
		retry, resetting time.Duration
	}{
		{10*second + 1, 1, 1, 1, 2, true, 0, time.Second - 1},
		{10*second + 2, 1, 5, 2, 0, true, time.Second - 2, time.Second - 2},
		{11*second - 1, 1, 1, 0, 0, false, 1, 1},
		{11 * second, 2, 2, 2, 1, true, 0, time.Second},
		{11*second + 5, 2, 2, 0, 1, false, time.Second - 5, time.Second - 5},
		{11*second + 5, 0, 0, 0, 1, true, 0, time.Second - 5},
		{10*second + second/2, 1, 1, 1, 0, true, 0, 1500 * time.Millisecond}, // the clock has stepped back, and mints nothing
		{10*second + second/2, 1, 1, 0, 0, false, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{5 * second, 1, 1, 0, 0, false, time.Second, time.Second}, // by so much that the bucket counts as empty
	}
	var v Level
	for i, s := range steps {
		next, d := v.Take(l, s.now, s.atLeast, s.atMost)
		want := Decision{Allowed: s.allowed, Granted: s.granted, Remaining: s.remaining, Limit: 3, RetryAfter: s.retry, ResetAfter: s.resetting}
		if d != want {
			t.Errorf("step %d: got %+v, want %+v", i, d, want)
		}
		v = next
	}
}

// TestLevel_NegativeUsed checks that a Fixed bucket with a negative Used is full.
func TestLevel_NegativeUsed(t *testing.T) {
	now := int64(1.8e18)
	for _, used := range []int64{-1, -3, math.MinInt64} {
		for _, capacity := range []int64{3, math.MaxInt64} {
			l := Limit{Capacity: capacity, Period: time.Second, Algorithm: Fixed}
			v, full := Level{At: now, Used: used}, Level{At: now}
			next, d := v.Take(l, now, 1, math.MaxInt64)
			if wantNext, want := full.Take(l, now, 1, math.MaxInt64); d != want || next != wantNext || d.Granted != capacity {
				t.Errorf("take of %d, of which %d are used: got %+v, %+v want %+v, %+v", capacity, used, next, d, wantNext, want)
			}
			if _, d := v.Return(l, now, 1).Take(l, now, 0, 0); d.Remaining != capacity || !v.Full(l, now) {
				t.Errorf("of %d, of which %d are used, after one was returned: got %+v and full %v want all there", capacity, used, d, v.Full(l, now))
			}
		}
	}
}

// grant is tokens that a bucket granted at a time. A full bucket that a Fixed limit finds has the
// capacity of the limit, although the bucket may have granted tokens in the same period before,
// and have filled up since. That is extra.
type grant struct {
	at, n int64
	extra float64
}

// mixed is a bucket of processes with different limits.
type mixed struct {
	draw   *rand.Rand
	limits []Limit
	level  Level
	now    int64
	grants []grant
	found  map[Limit]int // the last grant of a Fixed limit that found a full bucket
	trace  []string
}

// bound is what the limits grant at most in a time: the largest capacity, the highest rate, and once
// more the largest capacity of a Fixed limit.
type bound struct{ tokens, perNano float64 }

func boundOf(limits []Limit) bound {
	var b bound
	var fixed float64
	for _, l := range limits {
		perNano := 1 / float64(l.Interval())
		if l.Algorithm == Fixed {
			perNano = float64(l.Capacity) / float64(l.Period)
			fixed = max(fixed, float64(l.Capacity))
		}
		b.tokens, b.perNano = max(b.tokens, float64(l.Capacity)), max(b.perNano, perNano)
	}
	b.tokens += fixed
	return b
}

// exceeded returns the first span that has more than the bound, and what is extra.
func (b bound) exceeded(grants []grant) error {
	for i := range grants {
		sum, extra := int64(0), 0.
		for _, g := range grants[i:] {
			sum, extra = sum+g.n, extra+g.extra
			if most := b.tokens + extra + b.perNano*float64(g.at-grants[i].at); float64(sum) > most+1e-6 {
				return fmt.Errorf("got %d tokens in %v want at most %.3f", sum, time.Duration(g.at-grants[i].at), most)
			}
		}
	}
	return nil
}

func anyLimit(draw *rand.Rand) Limit {
	l := Limit{Capacity: 1 + draw.Int64N(30), Refill: 1 + draw.Int64N(30), Period: time.Duration(1000 + draw.Int64N(100_000)), Algorithm: Algorithm(draw.IntN(2))}
	switch draw.IntN(4) {
	case 0:
		l.Period *= 100
	case 1:
		l.Capacity *= 20
	}
	return l.WithDefaults()
}

// step takes tokens by one process, and gives back some of them at once. A store may delete a full
// level.
func (m *mixed) step() {
	l := m.limits[m.draw.IntN(len(m.limits))]
	if m.level.FullAt() <= m.now && m.draw.IntN(2) == 0 {
		m.level = Level{}
	}
	full := m.level.FullAt() <= m.now
	least := m.draw.Int64N(min(l.Capacity, 4) + 1)
	most := least + m.draw.Int64N(3)*m.draw.Int64N(l.Capacity+1)
	next, d := m.level.Take(l, m.now, least, most)
	m.trace = append(m.trace, fmt.Sprintf("%d: %v takes %d to %d of %+v: %d, then %+v", m.now, l, least, most, m.level, d.Granted, next))
	m.level = next
	if back := m.draw.Int64N(d.Granted+1) * m.draw.Int64N(2); back > 0 {
		m.level, d.Granted = m.level.Return(m.limits[m.draw.IntN(len(m.limits))], m.now, back), d.Granted-back
	}
	if d.Granted == 0 {
		return
	}
	g := grant{at: m.now, n: d.Granted}
	if elapsed := m.now % int64(l.Period); full && l.Algorithm == Fixed {
		g.extra = float64(l.Capacity) * float64(elapsed) / float64(l.Period)
		if last, ok := m.found[l]; ok && m.now-elapsed <= m.grants[last].at { // in the same period, and forgotten since
			m.grants[last].extra = 0
		}
		m.found[l] = len(m.grants)
	}
	m.grants = append(m.grants, g)
}

// TestLevel_DifferentLimits plays processes with two or three limits on one bucket, and judges every
// span.
func TestLevel_DifferentLimits(t *testing.T) {
	seeds := uint64(6000)
	if testing.Short() {
		seeds = 1500
	}
	for seed := range seeds {
		draw := rand.New(rand.NewPCG(seed, 23))
		m := mixed{draw: draw, found: map[Limit]int{}, now: int64(1.8e18) + draw.Int64N(1e9)}
		for range 2 + draw.IntN(2) {
			m.limits = append(m.limits, anyLimit(draw))
		}
		if draw.IntN(3) == 0 { // so that only one field differs
			m.limits[1].Algorithm, m.limits[1].Period = m.limits[0].Algorithm, m.limits[0].Period
		}
		pace := 1 + draw.Int64N(20_000)
		for range 120 {
			m.now += draw.Int64N(pace)
			m.step()
		}
		if err := boundOf(m.limits).exceeded(m.grants); err != nil {
			t.Fatalf("seed %d, %v: %v\n%v", seed, m.limits, err, m.trace)
		}
	}
}

// TestLevel_SteppingClock takes by a clock that goes back and forth by less than a second. In every
// span a bucket grants what its limit allows between the first time and the latest that the clock
// showed: going back and forth adds nothing. RetryAfter includes the time until the clock has caught up.
func TestLevel_SteppingClock(t *testing.T) {
	for seed := range uint64(1000) {
		draw := rand.New(rand.NewPCG(seed, 24))
		l := Limit{Capacity: 1 + draw.Int64N(20), Refill: 1 + draw.Int64N(20), Period: time.Duration(1 + draw.Int64N(3e9)), Algorithm: Algorithm(draw.IntN(2))}
		if l = l.WithDefaults(); l.Validate() != nil {
			continue
		}
		var v Level
		var at, granted []int64
		for passed := range int64(200) {
			now := int64(1.8e18) + passed*2e7 + draw.Int64N(2)*4e8 + draw.Int64N(5e8)
			var d Decision
			v, d = v.Take(l, now, 1, 1+draw.Int64N(l.Capacity))
			if !d.Allowed {
				checkRetry(t, v, l, now, 1, d)
			}
			at, granted = append(at, now), append(granted, d.Granted)
		}
		for i := range at {
			sum, latest := int64(0), at[i]
			for j := i; j < len(at); j++ {
				sum, latest = sum+granted[j], max(latest, at[j])
				most := l.Capacity + (latest-at[i])/int64(l.Interval())
				if l.Algorithm == Fixed {
					most = l.Capacity * (latest/int64(l.Period) - at[i]/int64(l.Period) + 1)
				}
				if sum > most {
					t.Fatalf("seed %d, %v: got %d tokens in %v want at most %d", seed, l, sum, time.Duration(latest-at[i]), most)
				}
			}
		}
	}
}

// TestLevel_StepBack checks that a step back of more than a second makes an empty bucket, and does
// not forget what is owed to another limit.
func TestLevel_StepBack(t *testing.T) {
	now, hour := int64(1.8e18), int64(time.Hour)
	slow, quick := Limit{Capacity: 100, Refill: 1, Period: time.Second}, Limit{Capacity: 10, Refill: 10, Period: time.Second}
	v, _ := Level{}.Take(slow, now+hour, 100, 100)
	v, d := v.Take(slow, now, 1, 1)
	if want := (Level{At: now + 100e9, Interval: 1e9, Capacity: 100}); d.Allowed || v != want {
		t.Errorf("got %+v want %+v", v, want)
	}
	if next, d := v.Take(slow, now-int64(time.Second), 1, 1); d.Allowed || next != v {
		t.Errorf("a step of a second: got %+v want no change of %+v", next, v)
	}
	v, d = v.Take(quick, now, 1, 1)
	want := Level{At: now + 1e9, Interval: 1e8, Capacity: 10, Other: Other{At: now + 100e9, Interval: 1e9, Capacity: 100}}
	if d.Allowed || v != want {
		t.Errorf("a faster limit: got %+v want %+v", v, want)
	}
}

// TestLevel_AfterAChange plays a change of the limit. Once it is complete, the new limit grants what it
// allows, whatever the old one owes. A Fixed one may grant up to a capacity less, once.
func TestLevel_AfterAChange(t *testing.T) {
	for seed := range uint64(2000) {
		draw := rand.New(rand.NewPCG(seed, 25))
		before, after := anyLimit(draw), anyLimit(draw)
		now := int64(1.8e18) + draw.Int64N(1e9)
		var v Level
		take := func(l Limit) int64 {
			var d Decision
			v, d = v.Take(l, now, 0, l.Capacity)
			return d.Granted
		}
		fill := after.Capacity * int64(after.Interval())
		for i := range 50 {
			if now += fill / 200; i%2 == 0 || i < 20 {
				take(before)
			} else {
				take(after)
			}
		}
		begin, granted := now, int64(0)
		for range 2000 {
			now += max(1, fill/200)
			granted += take(after)
		}
		allowed := float64(now-begin) / float64(after.Interval())
		if after.Algorithm == Fixed {
			allowed = float64((now/int64(after.Period) - begin/int64(after.Period) - 1) * after.Capacity)
		}
		if float64(granted) < 0.9*allowed-1 {
			t.Fatalf("seed %d, from %v to %v: got %d tokens want %.0f", seed, before, after, granted, allowed)
		}
	}
}
