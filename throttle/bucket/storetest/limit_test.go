package storetest

import (
	"hash/fnv"
	"strings"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func limitFaults() []fault {
	var only bucket.Limit
	changed := []string{"limit/raised", "limit/lowered", "limit/another rate"}
	return []fault{
		{"keeps the first limit of a bucket", changed, limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) { *l = first })},
		{"grants too much when the algorithm changes", []string{"limit/another algorithm"}, limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) {
			if l.Algorithm != first.Algorithm {
				l.Capacity *= 2
			}
		})},
		{"has one limit for all buckets", []string{"limit/two keys, two limits"}, tryTake(func(r *store.Request) {
			if only == (bucket.Limit{}) {
				only = r.Limit
			}
			r.Limit = only
		})},
		{"forgets what is owed when the algorithm changes", []string{"limit/another algorithm and back"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			if r.Limit.Algorithm == bucket.Fixed != (v.Period > 0) {
				v = store.Level{}
			}
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
		{"keeps the time at which the bucket is full when the rate changes", []string{"limit/another rate", "limit/a much faster rate"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			v.Interval, v.Period = 0, 0
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
	}
}

func keyFaults() []fault {
	anyBytes := []string{"key/any bytes"}
	return []fault{
		{"ignores the case of keys", anyBytes, names(strings.ToLower)},
		{"ignores blanks at the end", anyBytes, names(func(key string) string { return strings.TrimRight(key, " ") })},
		{"ends keys at a NUL", anyBytes, names(func(key string) string { key, _, _ = strings.Cut(key, "\x00"); return key })},
		{"repairs keys that are not UTF-8", anyBytes, names(func(key string) string { return strings.ToValidUTF8(key, "\ufffd") })},
		{"cuts long keys", []string{"key/long keys"}, names(func(key string) string { return key[:min(len(key), 255)] })},
		{"hashes keys to few bits", []string{"key/many keys"}, names(func(key string) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(key))
			return string(rune(h.Sum32() % 1000))
		})},
	}
}
