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
	for _, file := range []string{"bucket_clock.lua", step} {
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
	writer := c.l
	switch r.IntN(6) {
	case 0:
		writer = randomRedisLimit(r)
	case 1:
		writer.Capacity = 1 + r.Int64N(writer.Capacity)
	}
	c.v.At, c.v.Capacity = max(0, c.v.At), writer.Capacity
	if c.v.Interval = int64(writer.Interval()); writer.Algorithm == bucket.Fixed {
		c.v.Interval, c.v.Period = 0, int64(writer.Period)
		c.v.At -= c.v.At % c.v.Period * r.Int64N(2)
		c.v.Used = []int64{0, upTo(r, 1, writer.Capacity), upTo(r, 1, writer.Capacity), r.Int64()}[r.IntN(4)]
	}
	if r.IntN(8) == 0 {
		other := randomRedisLimit(r)
		c.v.Other = store.Other{At: max(0, c.now+upTo(r, 1, 1e15)*(2*r.Int64N(2)-1)), Capacity: other.Capacity, Interval: int64(other.Interval())}
		if other.Algorithm == bucket.Fixed {
			c.v.Other.Interval, c.v.Other.Period, c.v.Other.Used = 0, int64(other.Period), upTo(r, 0, other.Capacity)
		}
	}
	if r.IntN(8) == 0 {
		c.v = store.Level{}
	} else {
		c.before = redisLevel(c.v)
	}
	c.least = upTo(r, 0, c.l.Capacity)
	c.most = []int64{c.least, upTo(r, c.least, c.l.Capacity), upTo(r, c.least, math.MaxInt64)}[r.IntN(3)]
	if r.IntN(3) == 0 {
		c.least, c.most = 0, c.most*int64(r.IntN(2))
	}
	return c
}

// redisLevel is a level as it is stored.
func redisLevel(v store.Level) string {
	text := redisEntry(store.Other{At: v.At, Used: v.Used, Interval: v.Interval, Period: v.Period, Capacity: v.Capacity})
	if v.Other == (store.Other{}) {
		return text + " 0"
	}
	return text + " " + redisEntry(v.Other) + " 1"
}

func redisEntry(e store.Other) string {
	if e.Period > 0 {
		return fmt.Sprintf("%019d f%d %d %d", e.At, e.Period, e.Capacity, e.Used)
	}
	return fmt.Sprintf("%019d c%d %d 0", e.At, e.Interval, e.Capacity)
}

// fits reports whether the script computes with the limit.
func (c redisBucketCase) fits() bool {
	if c.l.Algorithm == bucket.Fixed {
		return c.l.Period < 1<<52 && c.l.Period%1000 == 0 && c.l.Capacity < 1<<52
	}
	return c.l.Capacity*int64(c.l.Interval()) < 1<<52
}

// own reports whether the script may grant tokens of the level.
func (c redisBucketCase) own() bool {
	v := c.v
	if v == (store.Level{}) {
		return true
	}
	if c.l.Algorithm == bucket.Fixed {
		begin := c.now - c.now%int64(c.l.Period)
		return v.Period == int64(c.l.Period) && v.Capacity == c.l.Capacity && v.Other == (store.Other{}) && v.At <= begin && v.At%1000 == 0 && v.Used <= c.l.Capacity
	}
	return v.Interval == int64(c.l.Interval()) && v.Capacity == c.l.Capacity && v.Other == (store.Other{})
}

// takeArguments are those of the script, and behind them the time.
func (c redisBucketCase) takeArguments() []any {
	most := min(c.most, c.l.Capacity)
	args := []any{fmt.Sprintf("000 f%d %d ", int64(c.l.Period), c.l.Capacity), int64(c.l.Period) / 1000, c.l.Capacity, c.least, most}
	if c.l.Algorithm == bucket.Continuous {
		unit := int64(c.l.Interval())
		args = []any{fmt.Sprintf(" c%d %d 0 0", unit, c.l.Capacity), unit, c.l.Capacity * unit, c.least * unit, most * unit}
	}
	return append(args, c.now/1e9, c.now%1e9/1000)
}

// TestRedisBucket_Scripts compares the scripts with store.Level at random times. Apart from the clock, the
// scripts are those that the store calls. A script may leave a step to the client, unless the level is of the same limit.
func TestRedisBucket_Scripts(t *testing.T) {
	const each = 500
	batches := short(24, 120)
	_, client, backing := newRedisBucket(t)
	clock := "local time = {ARGV[6], ARGV[7]}\n"
	scripts := [2]*redis.Script{redisBucketScript(t, clock, "bucket_take.lua"), redisBucketScript(t, clock, "bucket_take_fixed.lua")}
	returns := redisBucketScript(t, "local time = {ARGV[2], ARGV[3]}\n", "bucket_return.lua")
	for _, s := range []*redis.Script{scripts[0], scripts[1], returns} {
		if err := s.Load(t.Context(), client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	granted, denied, gave, left := 0, 0, 0, 0
	for range batches {
		cases := make([]redisBucketCase, 0, each)
		for len(cases) < each {
			if c := randomRedisCase(r); c.fits() {
				cases = append(cases, c)
			}
		}
		took := runRedisCases(t, client, cases, func(pipe redis.Pipeliner, c redisBucketCase, key string) *redis.Cmd {
			return scripts[c.l.Algorithm].EvalSha(t.Context(), pipe, []string{key}, c.takeArguments()...)
		})
		for i, c := range cases {
			next, d := c.v.Take(c.l, c.now, c.least, c.most)
			took[i].want(t, c, "take", next, d.Granted > 0 && c.own())
			if d.Granted > 0 {
				granted++
			} else {
				denied++
			}
		}
		outcomes := runRedisCases(t, client, cases, func(pipe redis.Pipeliner, c redisBucketCase, key string) *redis.Cmd {
			return returns.EvalSha(t.Context(), pipe, []string{key}, min(c.most, 1<<52), c.now/1e9, c.now%1e9/1000)
		})
		for i, c := range cases {
			next := c.v.Return(c.l, c.now, c.most)
			outcomes[i].want(t, c, "return", next, next != c.v && outcomes[i].written)
			if next != c.v && outcomes[i].written {
				gave++
			} else if next != c.v {
				left++
			}
		}
	}
	t.Logf("%d granted, %d not, %d returned, %d left to the client", granted, denied, gave, left)
	if least := batches * each / 8; granted < least || denied < least || gave < least/2 {
		t.Errorf("got %d granted, %d denied and %d returned want many of each", granted, denied, gave)
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
	written            bool
	stored             string
	expires            int64 // -1 is never, -2 is that there is nothing
}

func runRedisCases(
	t *testing.T, client redis.UniversalClient, cases []redisBucketCase, run func(redis.Pipeliner, redisBucketCase, string) *redis.Cmd,
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
		answers[i] = run(pipe, c, key)
		stored[i], expires[i] = pipe.Get(t.Context(), key), pipe.Do(t.Context(), "PEXPIRETIME", key) // which as a duration could overflow
	}
	_, _ = pipe.Exec(t.Context())
	outcomes := make([]redisBucketOutcome, len(cases))
	for i := range cases {
		said, err := answers[i].StringSlice()
		if err != nil || len(said) < 3 || len(said) > 4 {
			t.Fatalf("%+v: got %q, error %v", cases[i], said, err)
		}
		ends, err := expires[i].Int64()
		if err != nil {
			t.Fatal(err)
		}
		outcomes[i] = redisBucketOutcome{now: said[0] + " " + said[1], before: said[2], written: len(said) == 4, stored: stored[i].Val(), expires: ends}
		if outcomes[i].written {
			outcomes[i].after = said[3]
		}
	}
	return outcomes
}

func (o redisBucketOutcome) want(t *testing.T, c redisBucketCase, step string, next store.Level, written bool) {
	t.Helper()
	want := redisBucketOutcome{now: fmt.Sprint(c.now/1e9, " ", c.now%1e9/1000), before: c.before, written: written, stored: c.before, expires: -1}
	if c.before == "" {
		want.expires = -2
	}
	if written {
		want.after, want.expires = redisLevel(next), next.FullAt()/1e6+1
		if next.FullAt() <= c.now { // a full bucket has no key
			want.after, want.expires = "", -2
		}
		want.stored = want.after
	}
	if o.expires == -2 && want.expires >= 0 && time.UnixMilli(want.expires).Before(time.Now()) { // it has expired in our time
		want.stored, want.expires = "", -2
	}
	if o != want {
		t.Fatalf("%s: %+v:\ngot  %+v\nwant %+v", step, c, o, want)
	}
}
