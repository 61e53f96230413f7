package store

import (
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
