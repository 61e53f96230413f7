package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

const (
	// patience is how long a case waits for what must happen. It is only used up by a store that fails.
	patience = 30 * time.Second
	// moment is how long it waits between two looks.
	moment = 5 * time.Millisecond
	// longest is the longest period of a limit.
	longest = 366 * 24 * time.Hour
)

// reporter is the part of *testing.T that cases use, so that the suite can be tested with another one.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// rig is what a case works with: a first handle on the storage, and what it knows of the buckets in it.
type rig struct {
	reporter
	open       func() store.Store
	store      store.Store        // the first handle
	resolution int64              // of the store's clock, in nanoseconds
	begun      time.Time          // from which on local times are counted
	nonce      string             // in all keys, so that they are new
	about      string             // what a step that fails is told to be about
	levels     map[string][]level // that a bucket may have, of those that are used one call after the other
}

func newRig(t reporter, open func() store.Store, options ...Option) *rig {
	r := &rig{
		reporter: t, open: open, resolution: int64(time.Microsecond), begun: time.Now(), nonce: rand.Text(), levels: map[string][]level{},
	}
	for _, o := range options {
		o(r)
	}
	r.store = r.handle()
	return r
}

// handle returns another handle, which the end of the case closes.
func (r *rig) handle() store.Store {
	s := r.open()
	if s == nil {
		r.Fatalf("open returned a nil Store")
	}
	r.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.Errorf("Close: got error %v, want none", err)
		}
	})
	return s
}

// handles returns n more handles.
func (r *rig) handles(n int) []store.Store {
	all := make([]store.Store, n)
	for i := range all {
		all[i] = r.handle()
	}
	return all
}

// key returns a key that nobody has used.
func (r *rig) key(name string) string { return r.nonce + " " + name }

// now is the local time in nanoseconds.
func (r *rig) now() int64 { return int64(time.Since(r.begun)) }

// pause lets time go by.
func (r *rig) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// together runs n workers at once and fails the case with the error of the first that has one.
func (r *rig) together(n int, work func(i int) error) {
	r.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = work(i)
		})
	}
	close(begin)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			r.Fatalf("worker %d of %d at once: %v", i, n, err)
		}
	}
}

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
