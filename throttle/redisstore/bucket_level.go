package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// checkRequest reports what is wrong with a request. The script relies on it: it could divide for ever by an interval that is none.
func checkRequest(r bucketstore.Request) error {
	if err := r.Limit.Validate(); err != nil {
		return err
	}
	if r.Min < 0 || r.Min > r.Max || r.Min > r.Limit.Capacity {
		return fmt.Errorf("the request is for %d to %d tokens: want 0 <= Min <= Max, and at most %d as Min", r.Min, r.Max, r.Limit.Capacity)
	}
	return nil
}

// takeArgs are the request as the script counts. More than the bucket holds is never granted, so it need not be said.
func takeArgs(r bucketstore.Request) []any {
	most := min(r.Max, r.Limit.Capacity)
	if r.Limit.Algorithm == bucket.Fixed {
		return []any{"fixed", int64(r.Limit.Period), r.Limit.Capacity, r.Min, most}
	}
	interval := int64(r.Limit.Interval())
	return []any{"continuous", interval, r.Limit.Capacity * interval, r.Min * interval, most * interval}
}

func returnArgs(l bucket.Limit, n int64) []any {
	n = max(0, n)
	if l.Algorithm == bucket.Fixed {
		return []any{"fixed", int64(l.Period), n}
	}
	interval := int64(l.Interval())
	return []any{"continuous", interval, min(n, l.Capacity) * interval}
}

// parseDecision decides as the script did, from the time and the level that it found, and wants the same level to follow: what is told is
// what was written.
func parseDecision(r bucketstore.Request, answer []any) (bucket.Decision, error) {
	var text [3]string
	for i := range text {
		ok := len(answer) == len(text)
		if ok {
			text[i], ok = answer[i].(string)
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

// roundUp is a time of whole microseconds: who waits for less may find the server's clock a step short of what was told.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

// parseLevel reads a level as the scripts write it. None is a full bucket.
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
