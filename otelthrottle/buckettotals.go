package otelthrottle

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// buckets are the limiters that are told of.
type buckets = byname.Registry[*bucket.Limiter, bucket.Stats, bucketReading, *bucketLabels]

// newBuckets returns a registry without limiters, whose series will have these attributes too.
func newBuckets(constants []attribute.KeyValue) *buckets {
	return byname.New(byname.Kind[*bucket.Limiter, bucket.Stats, bucketReading, *bucketLabels]{
		Name:  func(m *bucket.Limiter) string { return labelName(m.Name()) },
		Data:  func(name string) *bucketLabels { return newBucketLabels(name, constants) },
		Read:  (*bucket.Limiter).Stats,
		Busy:  func(s *bucket.Stats) bool { return s.Waiting+s.Asking > 0 },
		Add:   bucketReading.with,
		Clone: func(r bucketReading) bucketReading { return r },
	})
}

// bucketReading is what a source of limiters shows at one collection: the totals, and the present of its open members.
type bucketReading struct {
	granted, denied, failedOpen, failedClosed uint64 // requests
	tokens                                    uint64 // granted
	waiting                                   int
}

// with returns the reading with one limiter more; the present only of one that is open.
func (r bucketReading) with(s *bucket.Stats, open bool) bucketReading {
	r.granted += s.Granted
	r.denied += s.Denied
	r.failedOpen += s.FailedOpen
	r.failedClosed += s.FailedClosed
	r.tokens += s.Tokens
	if open {
		r.waiting += s.Waiting
	}
	return r
}
