package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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

// takeArgs returns the arguments of bucket_take.lua. Max is cut to the capacity, because a bucket
// never grants more.
func takeArgs(r bucketstore.Request) []any {
	atMost := min(r.Max, r.Limit.Capacity)
	if r.Limit.Algorithm == bucket.Fixed {
		return []any{"fixed", int64(r.Limit.Period), r.Limit.Capacity, r.Min, atMost}
	}
	interval := int64(r.Limit.Interval())
	return []any{"continuous", interval, r.Limit.Capacity * interval, r.Min * interval, atMost * interval}
}

// returnArgs returns the arguments of bucket_return.lua.
func returnArgs(l bucket.Limit, n int64) []any {
	n = max(0, n)
	if l.Algorithm == bucket.Fixed {
		return []any{"fixed", int64(l.Period), n}
	}
	interval := int64(l.Interval())
	return []any{"continuous", interval, min(n, l.Capacity) * interval}
}

// parseDecision computes the decision from the time and the level that the script read. It returns
// an error if the script wrote another level than that decision leads to.
func parseDecision(r bucketstore.Request, reply []any) (bucket.Decision, error) {
	var text [3]string
	for i := range text {
		ok := len(reply) == len(text)
		if ok {
			text[i], ok = reply[i].(string)
		}
		if !ok {
			return bucket.Decision{}, errReply
		}
	}
	now, err := strconv.ParseInt(text[0], 10, 64)
	before, ok1 := parseLevel(text[1])
	after, ok2 := parseLevel(text[2])
	if err != nil || now < 0 || !ok1 || !ok2 {
		return bucket.Decision{}, errReply
	}
	next, d := before.Take(r.Limit, now, r.Min, r.Max)
	if next != after {
		return bucket.Decision{}, errReply
	}
	d.RetryAfter = roundUp(d.RetryAfter)
	return d, nil
}

// roundUp rounds up to whole microseconds. After a shorter wait the server's clock, which counts
// microseconds, may still be before the time of the next token.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

// parseLevel parses a level that a script wrote. An empty text is a full bucket.
func parseLevel(text string) (bucketstore.Level, bool) {
	if text == "" {
		return bucketstore.Level{}, true
	}
	at, used, _ := strings.Cut(text, " ")
	var v bucketstore.Level
	var err1, err2 error
	v.At, err1 = strconv.ParseInt(at, 10, 64)
	v.Used, err2 = strconv.ParseInt(used, 10, 64)
	return v, err1 == nil && err2 == nil && v.At >= 0 && v.Used >= 0
}
