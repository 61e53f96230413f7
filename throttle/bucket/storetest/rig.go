package storetest

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// longest is the longest period of a limit.
const longest = 366 * 24 * time.Hour

// rig is what a case works with: handles on the storage, and what it knows of the buckets in it.
type rig struct {
	kit.Fixture[store.Store]
	resolution int64              // of the store's clock, in nanoseconds
	begun      time.Time          // from which on local times are counted
	nonce      string             // in all keys, so that they are new
	about      string             // what a step that fails is told to be about
	levels     map[string][]level // that a bucket may have, of those that are used one call after the other
}

func newRig(t kit.T, open func() store.Store, options ...Option) *rig {
	r := &rig{resolution: int64(time.Microsecond), begun: time.Now(), nonce: rand.Text(), levels: map[string][]level{}}
	for _, o := range options {
		o(r)
	}
	r.Fixture = kit.NewFixture(t, open)
	return r
}

// key returns a key that nobody has used.
func (r *rig) key(name string) string { return r.nonce + " " + name }

// now is the local time in nanoseconds.
func (r *rig) now() int64 { return int64(time.Since(r.begun)) }

// lasting is a limit of which nothing comes back while a case runs: a Continuous bucket takes ten years to fill.
func lasting(capacity int64, a bucket.Algorithm) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: (capacity-1)/10 + 1, Period: longest, Algorithm: a}.WithDefaults()
}

// said writes a limit in few words.
func said(l bucket.Limit) string {
	return fmt.Sprintf("%v limit of %d, %d per %v", l.Algorithm, l.Capacity, l.Refill, l.Period)
}

// eachAlgorithm runs a case for both.
func eachAlgorithm(run func(r *rig, a bucket.Algorithm)) func(*rig) {
	return func(r *rig) {
		for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
			run(r, a)
		}
	}
}
