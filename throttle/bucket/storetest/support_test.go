package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

type (
	opener = kit.Opener[store.Store]
	fault  = kit.Fault[store.Store]
)

// storage is shared by all handles of a store. A func that is nil works correctly; the others are
// faults.
type storage struct {
	mu     sync.Mutex
	levels map[string]store.Level

	name     func(key string) string // under which a bucket is stored
	take     taking
	decision func(d *bucket.Decision) // changes what Take returns
	giveBack giving
	reset    func(s *storage, key string)
	unlocked bool // updates are not atomic
}

type (
	taking = func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision)
	giving = func(v store.Level, l bucket.Limit, now, n int64) store.Level
)

// broken is a handle on a storage.
type broken struct {
	*storage

	now     func() int64
	early   func(ctx context.Context) error // called before the operation
	late    func(ctx context.Context) error // called after the operation
	closing func() error
}

func (b *broken) time() int64 {
	if b.now != nil {
		return b.now()
	}
	return time.Now().UnixNano()
}

// update reads a level, calls decide, and writes the level that it returns.
func (b *broken) update(ctx context.Context, key string, decide func(v store.Level) store.Level) error {
	early := b.early
	if early == nil {
		early = context.Context.Err
	}
	if err := early(ctx); err != nil {
		return err
	}
	if b.name != nil {
		key = b.name(key)
	}
	b.mu.Lock()
	v := b.levels[key]
	if b.unlocked {
		b.mu.Unlock()
		yield()
		v = decide(v)
		b.mu.Lock()
	} else {
		v = decide(v)
	}
	b.levels[key] = v
	b.mu.Unlock()
	if b.late != nil {
		return b.late(ctx)
	}
	return nil
}

func (b *broken) Take(ctx context.Context, r store.Request) (d bucket.Decision, err error) {
	err = b.update(ctx, r.Key, func(v store.Level) store.Level {
		if b.take != nil {
			v, d = b.take(v, r, b.time())
		} else {
			v, d = v.Take(r.Limit, b.time(), r.Min, r.Max)
		}
		if b.decision != nil {
			b.decision(&d)
		}
		return v
	})
	return d, err
}

func (b *broken) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	return b.update(ctx, key, func(v store.Level) store.Level {
		if b.giveBack != nil {
			return b.giveBack(v, l, b.time(), n)
		}
		if v == (store.Level{}) {
			return v
		}
		return v.Return(l, b.time(), n)
	})
}

func (b *broken) Reset(ctx context.Context, key string) error {
	return b.update(ctx, key, func(store.Level) store.Level {
		if b.reset == nil {
			return store.Level{}
		}
		b.reset(b.storage, key)
		return b.levels[key]
	})
}

func (b *broken) Close() error {
	if b.closing != nil {
		return b.closing()
	}
	return nil
}

// shared breaks the storage of all handles.
func shared(breakIt func(*storage)) opener {
	return func(*kit.Recorder) func() store.Store {
		s := &storage{levels: map[string]store.Level{}}
		breakIt(s)
		return func() store.Store { return &broken{storage: s} }
	}
}

// each breaks every handle by its number.
func each(breakIt func(b *broken, handle int)) opener {
	return func(*kit.Recorder) func() store.Store {
		s := &storage{levels: map[string]store.Level{}}
		handles := 0
		return func() store.Store {
			b := &broken{storage: s}
			breakIt(b, handles)
			handles++
			return b
		}
	}
}

// yield lets other goroutines work.
func yield() { <-time.After(time.Microsecond) }

// replacesTake replaces Take.
func replacesTake(take taking) opener { return shared(func(s *storage) { s.take = take }) }

// asks changes the request.
func tryTake(change func(r *store.Request)) opener {
	return replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
		change(&r)
		return v.Take(r.Limit, now, r.Min, r.Max)
	})
}

// limits changes the level and the limit, given the first limit of the bucket.
func limits(change func(first bucket.Limit, v *store.Level, l *bucket.Limit)) opener {
	return shared(func(s *storage) {
		first := map[string]bucket.Limit{}
		s.take = func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			if _, known := first[r.Key]; !known {
				first[r.Key] = r.Limit
			}
			change(first[r.Key], &v, &r.Limit)
			return v.Take(r.Limit, now, r.Min, r.Max)
		}
	})
}

// changesDecision changes the decision that Take returns.
func changesDecision(change func(d *bucket.Decision)) opener {
	return shared(func(s *storage) { s.decision = change })
}

// givesBack replaces Return.
func givesBack(change giving) opener { return shared(func(s *storage) { s.giveBack = change }) }

// names changes the key of a bucket.
func names(name func(key string) string) opener { return shared(func(s *storage) { s.name = name }) }

// clock changes the clock of each handle.
func clock(change func(now, begun time.Time, handle int) time.Time) opener {
	return each(func(b *broken, handle int) {
		begun := time.Now()
		b.now = func() int64 { return change(time.Now(), begun, handle).UnixNano() }
	})
}
