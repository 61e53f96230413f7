package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// checkRequest returns an error for an invalid request. The script does not check its arguments: a
// division by an interval of 0 would never end.
func checkRequest(r bucketstore.Request) error {
	if err := r.Limit.Validate(); err != nil {
		return err
	}
	if r.Min < 0 || r.Min > r.Max || r.Min > r.Limit.Capacity {
		return fmt.Errorf("Request.Min is %d and Max is %d: want 0 <= Min <= Max, and Min at most the capacity of %d",
			r.Min, r.Max, r.Limit.Capacity)
	}
	return nil
}

// exact is more than any number with which the scripts compute. Numbers of Lua are exact below it.
const exact = 1 << 52

// takeArgs returns the script and the arguments of a request. Max is cut to the capacity, because a
// bucket never grants more. If the script cannot compute with the limit exactly, it only reads.
func (s *bucketScripts) takeArgs(r bucketstore.Request) (*redis.Script, []any) {
	l := r.Limit
	atMost := min(r.Max, l.Capacity)
	if l.Algorithm == bucket.Fixed {
		if l.Period >= exact || l.Period%time.Microsecond != 0 || l.Capacity >= exact {
			return s.swap, readArgs()
		}
		return s.takeFixed, []any{fmt.Sprintf("000 f%d %d ", l.Period, l.Capacity), l.Period.Microseconds(), l.Capacity, r.Min, atMost}
	}
	interval := int64(l.Interval())
	if l.Capacity*interval >= exact {
		return s.swap, readArgs()
	}
	return s.take, []any{fmt.Sprintf(" c%d %d 0 0", interval, l.Capacity), interval, l.Capacity * interval, r.Min * interval, atMost * interval}
}

// readArgs returns arguments of the script that swaps. No level is one blank, so it only reads.
func readArgs() []any { return []any{" ", "", 0} }

// bucketReply is the reply of a script: the time, the value that it has read, and the one that it
// has written.
type bucketReply struct {
	now           int64
	before, after string
	changed       bool
}

func parseReply(reply []any) (r bucketReply, err error) {
	var text [4]string
	for i := range reply {
		ok := i < len(text)
		if ok {
			text[i], ok = reply[i].(string)
		}
		if !ok {
			return r, fmt.Errorf("%w: %.200q", errReply, reply)
		}
	}
	seconds, err1 := strconv.ParseUint(text[0], 10, 33)
	micros, err2 := strconv.ParseUint(text[1], 10, 20)
	if len(reply) < 3 || err1 != nil || err2 != nil {
		return r, fmt.Errorf("%w: %.200q", errReply, reply)
	}
	return bucketReply{int64(seconds)*1e9 + int64(micros)*1e3, text[2], text[3], len(reply) == 4}, nil
}

// roundUp rounds up to whole microseconds. After a shorter wait the server's clock, which counts
// microseconds, may still be before the time of the next token.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

// formatLevel formats a level as the scripts do: an entry and 0, or two entries and 1. The scripts
// leave a level with two entries to the client.
func formatLevel(v bucketstore.Level) string {
	first := formatEntry(bucketstore.Other{At: v.At, Used: v.Used, Interval: v.Interval, Period: v.Period, Capacity: v.Capacity})
	if v.Other == (bucketstore.Other{}) {
		return first + " 0"
	}
	return first + " " + formatEntry(v.Other) + " 1"
}

func formatEntry(e bucketstore.Other) string {
	if e.Period > 0 {
		return fmt.Sprintf("%019d f%d %d %d", e.At, e.Period, e.Capacity, e.Used)
	}
	return fmt.Sprintf("%019d c%d %d 0", e.At, e.Interval, e.Capacity)
}

// parseLevel parses a level. An empty or invalid text is a full bucket.
func parseLevel(text string) (v bucketstore.Level) {
	fields := strings.Split(text, " ")
	if n := len(fields); n != 5 && n != 9 || fields[n-1] != strconv.Itoa(n/9) {
		return v
	}
	e, ok := parseEntry(fields)
	v = bucketstore.Level{At: e.At, Used: e.Used, Interval: e.Interval, Period: e.Period, Capacity: e.Capacity}
	if ok && len(fields) == 9 {
		v.Other, ok = parseEntry(fields[4:])
	}
	if !ok {
		return bucketstore.Level{}
	}
	return v
}

func parseEntry(fields []string) (e bucketstore.Other, ok bool) {
	if len(fields[0]) != 19 || fields[1] == "" {
		return e, false
	}
	var n [4]int64
	for i, field := range fields[:4] {
		if i == 1 {
			field = field[1:]
		}
		var err error
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil || n[i] < 0 {
			return e, false
		}
	}
	e = bucketstore.Other{At: n[0], Capacity: n[2], Used: n[3]}
	switch fields[1][0] {
	case 'f':
		e.Period = n[1]
	case 'c':
		e.Interval = n[1]
	}
	return e, e.Interval+e.Period > 0 && e.Capacity > 0 && (e.Interval == 0 || e.Used == 0)
}
