package stores_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// redisBucketScript composes a script as the store does, with a test clock if one is given.
func redisBucketScript(t testing.TB, clock, step string) *redis.Script {
	t.Helper()
	var all strings.Builder
	for _, file := range []string{"bucket_clock.lua", "bucket_math.lua", step} {
		text, err := os.ReadFile("../../../throttle/redisstore/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "bucket_clock.lua" && clock != "" {
			text = []byte(clock)
		}
		all.Write(text)
	}
	return redis.NewScript(all.String())
}

// redisBucketCase is a step at a time, on a level.
type redisBucketCase struct {
	l           bucket.Limit
	now         int64
	before      string // as it is stored; "" is nothing
	v           store.Level
	least, most int64
}

// upTo is a random number from least to most, of any magnitude, and often one at the edge.
func upTo(r *rand.Rand, least, most int64) int64 {
	switch n := int64(math.Exp(r.Float64() * math.Log(float64(most)))); r.IntN(8) {
	case 0:
		return least
	case 1:
		return most
	case 2:
		return least + int64(r.Uint64N(uint64(most-least)+1))
	default:
		return min(max(n+r.Int64N(2), least), most)
	}
}

func randomRedisLimit(r *rand.Rand) bucket.Limit {
	const year = 366 * 24 * time.Hour
	l := bucket.Limit{Period: time.Duration(upTo(r, 1000, int64(year))), Capacity: upTo(r, 1, math.MaxInt64)}
	if r.IntN(3) == 0 {
		l.Period = []time.Duration{time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, year}[r.IntN(6)]
	}
	if l.Algorithm = bucket.Algorithm(r.IntN(2)); l.Algorithm == bucket.Continuous {
		l.Refill = upTo(r, 1, int64(l.Period))
		if r.IntN(4) == 0 {
			l.Refill = min(l.Refill, []int64{1, 2, 5, 10}[r.IntN(4)])
		}
		l.Capacity = upTo(r, 1, int64(10*year)/int64(l.Interval()))
	}
	return l.WithDefaults()
}

func randomRedisCase(r *rand.Rand) redisBucketCase {
	c := redisBucketCase{l: randomRedisLimit(r)}
	const latest = 7258118400000000 // microseconds: the year 2200
	c.now = 1000 * (latest/2 + r.Int64N(latest/2))
	if r.IntN(4) == 0 {
		c.now = 1000 * r.Int64N(latest)
	}
	if r.IntN(4) == 0 { // so that sums come to whole seconds
		c.now -= c.now % 1e8
	}
	span := int64(c.l.Period) // within which a level means something
	if c.l.Algorithm == bucket.Continuous {
		span = c.l.Capacity * int64(c.l.Interval())
	}
	switch r.IntN(8) {
	case 0:
		c.v.At = r.Int64()
	case 1:
		c.v.At = c.now - c.now%int64(c.l.Period) + int64(c.l.Period)*(r.Int64N(3)-1)
	case 2:
		c.v.At = c.now + span + r.Int64N(3) - 1
	case 3:
		c.v.At = c.now + r.Int64N(3) - 1
	case 4, 5:
		c.v.At = c.now + upTo(r, 1, span)
	case 6:
		c.v.At = c.now - upTo(r, 1, span)
	}
	if c.v.At = max(0, c.v.At); c.v.At > 0 {
		c.v.Used = []int64{0, upTo(r, 1, c.l.Capacity), upTo(r, 1, c.l.Capacity), r.Int64()}[r.IntN(4)]
		c.before = fmt.Sprint(c.v.At, " ", c.v.Used)
	} else {
		c.v = store.Level{}
	}
	c.least = upTo(r, 0, c.l.Capacity)
	c.most = []int64{c.least, upTo(r, c.least, c.l.Capacity), upTo(r, c.least, math.MaxInt64)}[r.IntN(3)]
	if r.IntN(3) == 0 {
		c.least, c.most = 0, c.most*int64(r.IntN(2))
	}
	return c
}

// arguments are those of the script, and behind them the time.
func (c redisBucketCase) arguments(tokens ...int64) []any {
	name, unit := "fixed", int64(1)
	args := []any{name, int64(c.l.Period)}
	if c.l.Algorithm == bucket.Continuous {
		unit = int64(c.l.Interval())
		args = []any{"continuous", unit}
	}
	for _, n := range tokens {
		if c.l.Algorithm == bucket.Continuous { // which would be too much to count as time
			n = min(n, c.l.Capacity)
		}
		args = append(args, n*unit)
	}
	return append(args, c.now/1e9, c.now%1e9/1000)
}

// ends returns the time in milliseconds at which the key of a level may expire.
func (c redisBucketCase) ends(v store.Level) int64 {
	full := uint64(v.At)
	if c.l.Algorithm == bucket.Fixed {
		full += uint64(c.l.Period)
	}
	return int64((full-1)/1e6 + 1)
}

// TestRedisBucket_Scripts compares the scripts with store.Level at random times. Apart from the clock, the
// scripts are those that the store calls.
func TestRedisBucket_Scripts(t *testing.T) {
	const each = 500
	batches := short(12, 60)
	_, client, backing := newRedisBucket(t)
	takes := redisBucketScript(t, "local time = {ARGV[6], ARGV[7]}\n", "bucket_take.lua")
	returns := redisBucketScript(t, "local time = {ARGV[4], ARGV[5]}\n", "bucket_return.lua")
	for _, s := range []*redis.Script{takes, returns} {
		if err := s.Load(t.Context(), client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	granted, denied := 0, 0
	for range batches {
		var cases [each]redisBucketCase
		for i := range cases {
			cases[i] = randomRedisCase(r)
		}
		took := runRedisCases(t, client, takes, cases[:], func(c redisBucketCase) []any { return c.arguments(c.l.Capacity, c.least, c.most) })
		for i, c := range cases {
			next, d := c.v.Take(c.l, c.now, c.least, c.most)
			took[i].want(t, c, "take", next, d.Granted > 0 || next != c.v)
			if d.Allowed {
				granted++
			} else {
				denied++
			}
		}
		gave := runRedisCases(t, client, returns, cases[:], func(c redisBucketCase) []any { return c.arguments(c.most) })
		for i, c := range cases {
			next := c.v.Return(c.l, c.now, c.most)
			fixed := c.l.Algorithm == bucket.Fixed
			over := fixed && c.v.At < c.now-c.now%int64(c.l.Period) // nothing is returned to a period that is
			if next.At <= c.now && !over && (!fixed || next.Used == 0) {
				next = store.Level{} // a full bucket has no key
			}
			gave[i].want(t, c, "return", next, c.before != "" && !over)
		}
	}
	if granted < batches*each/4 || denied < batches*each/8 {
		t.Errorf("got %d granted and %d denied want many of both", granted, denied)
	}
	redisBucketCalls(t, client, backing)
}

// redisBucketCalls checks that the store calls the scripts that were compared, with the server's clock.
func redisBucketCalls(t *testing.T, client redis.UniversalClient, store store.Store) {
	t.Helper()
	for step, call := range redisBucketSteps(store) {
		if step == "reset" {
			continue
		}
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := redisBucketScript(t, "", "bucket_"+step+".lua")
		if known, err := s.Exists(t.Context(), client).Result(); err != nil || !known[0] {
			t.Errorf("%s: got error %v, and that the server knows the script: %v", step, err, known)
		}
	}
	clock, err := os.ReadFile("../../../throttle/redisstore/bucket_clock.lua")
	if err != nil || string(clock) != "local time = redis.call('TIME')\n" {
		t.Errorf("got clock %q want the server's", clock)
	}
}

// redisBucketOutcome is the answer of a script, and the key that it left.
type redisBucketOutcome struct {
	now, before, after string
	stored             string
	expires            int64 // -1 is never, -2 is that there is nothing
}

func runRedisCases(
	t *testing.T, client redis.UniversalClient, s *redis.Script, cases []redisBucketCase, args func(redisBucketCase) []any,
) []redisBucketOutcome {
	t.Helper()
	pipe := client.Pipeline()
	answers, stored, expires := make([]*redis.Cmd, len(cases)), make([]*redis.StringCmd, len(cases)), make([]*redis.Cmd, len(cases))
	for i, c := range cases {
		key := fmt.Sprint("case", i)
		pipe.Del(t.Context(), key)
		if c.before != "" {
			pipe.Set(t.Context(), key, c.before, 0)
		}
		answers[i] = s.EvalSha(t.Context(), pipe, []string{key}, args(c)...)
		stored[i], expires[i] = pipe.Get(t.Context(), key), pipe.Do(t.Context(), "PEXPIRETIME", key) // which as a duration could overflow
	}
	_, _ = pipe.Exec(t.Context())
	outcomes := make([]redisBucketOutcome, len(cases))
	for i := range cases {
		said, err := answers[i].StringSlice()
		if err != nil || len(said) != 3 {
			t.Fatalf("%+v: got %q, error %v", cases[i], said, err)
		}
		ends, err := expires[i].Int64()
		if err != nil {
			t.Fatal(err)
		}
		outcomes[i] = redisBucketOutcome{now: said[0], before: said[1], after: said[2], stored: stored[i].Val(), expires: ends}
	}
	return outcomes
}

func (o redisBucketOutcome) want(t *testing.T, c redisBucketCase, step string, next store.Level, written bool) {
	t.Helper()
	want := redisBucketOutcome{now: fmt.Sprint(c.now), before: c.before, after: c.before, stored: c.before, expires: -1}
	if written && next != (store.Level{}) {
		want.after = fmt.Sprint(next.At, " ", next.Used)
		want.stored, want.expires = want.after, c.ends(next)
	} else if next == (store.Level{}) {
		want.after, want.stored, want.expires = "", "", -2
	}
	if o.expires == -2 && want.expires >= 0 && time.UnixMilli(want.expires).Before(time.Now()) { // it has expired in our time
		want.stored, want.expires = "", -2
	}
	if o != want {
		t.Fatalf("%s: %+v:\ngot  %+v\nwant %+v", step, c, o, want)
	}
}
