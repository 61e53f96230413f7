package storetest

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func limitMutants() []mutant {
	var only bucket.Limit
	changed := []string{"limit/raised", "limit/lowered", "limit/another rate"}
	return []mutant{
		{"keeps the first limit of a bucket", limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) { *l = first }), changed},
		{"fills when the limit changes", limits(func(first bucket.Limit, v *store.Level, l *bucket.Limit) {
			if *l != first {
				*v = store.Level{}
			}
		}), changed},
		{"grants too much when the algorithm changes", limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) {
			if l.Algorithm != first.Algorithm {
				l.Capacity *= 2
			}
		}), []string{"limit/another algorithm"}},
		{"has one limit for all buckets", asks(func(r *store.Request) {
			if only == (bucket.Limit{}) {
				only = r.Limit
			}
			r.Limit = only
		}), []string{"limit/two keys, two limits"}},
		{"keeps what was used of a fixed bucket while it is continuous", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if r.Limit.Algorithm == bucket.Continuous {
				next.Used = v.Used
			}
			return next, d
		}), []string{"limit/another algorithm and back"}},
	}
}

func keyMutants() []mutant {
	anyBytes := []string{"key/of any bytes are apart"}
	return []mutant{
		{"does not tell upper case from lower", names(strings.ToLower), anyBytes},
		{"ignores blanks at the end", names(func(key string) string { return strings.TrimRight(key, " ") }), anyBytes},
		{"ends keys at a NUL", names(func(key string) string { key, _, _ = strings.Cut(key, "\x00"); return key }), anyBytes},
		{"repairs keys that are not UTF-8", names(func(key string) string { return strings.ToValidUTF8(key, "\ufffd") }), anyBytes},
		{"cuts long keys", names(func(key string) string { return key[:min(len(key), 255)] }), []string{"key/long ones are apart"}},
		{"hashes keys to few bits", names(func(key string) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(key))
			return string(rune(h.Sum32() % 1000))
		}), []string{"key/many are apart"}},
	}
}

func raceMutants() []mutant {
	return []mutant{
		{"loses updates", shared(func(s *storage) { s.unlocked = true }), []string{
			"race/grants not one too many", "race/first requests of a bucket", "race/what is returned is granted again, once", "race/buckets do not share",
			"rate/not one too many and none lost in any time", "history/can be put in order", "history/can be put in order while tokens come back",
			"history/can be put in order across periods",
		}},
		{"gives up when others write", each(func(b *broken, _ int) { b.early = busy(b.storage) }), []string{"race/grants not one too many", "history/can be put in order"}},
	}
}

// busy fails while another call is under way.
func busy(s *storage) func(context.Context) error {
	return func(ctx context.Context) error {
		if !s.mu.TryLock() {
			return errors.New("deadlock found")
		}
		aMoment()
		s.mu.Unlock()
		return ctx.Err()
	}
}

func handleMutants() []mutant {
	heedless := func(context.Context) error { return nil }
	return []mutant{
		{"has buckets for each handle", each(func(b *broken, _ int) { b.storage = &storage{levels: map[string]store.Level{}} }), []string{
			"take/another handle sees it", "handle/Close leaves buckets and others alone", "handle/Close twice is fine", "race/grants not one too many",
		}},
		{"takes though its context is over", each(func(b *broken, _ int) { b.early, b.late = heedless, context.Context.Err }), []string{
			"context/canceled before", "context/past its deadline",
		}},
		{"does not look at its context", each(func(b *broken, _ int) { b.early = heedless }), []string{"context/canceled before", "context/past its deadline"}},
		{"waits for ever when its context is over", leaky(func(b *broken, wait func()) {
			b.early = func(ctx context.Context) error {
				if ctx.Err() != nil {
					wait()
				}
				return nil
			}
		}), []string{"context/canceled before"}},
		{"keeps a lock when its context ends", each(func(b *broken, _ int) { b.early = stuck() }), []string{"context/canceled meanwhile"}},
		{"takes more when its context ends", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if d.Granted == 2 { // as a client does that repeats a request without an answer
				next, _ = next.Take(r.Limit, now, 1, 2)
			}
			return next, d
		}), []string{"context/canceled meanwhile"}},
		{"fills all buckets when it is closed", each(func(b *broken, _ int) {
			b.closing = func() error {
				b.mu.Lock()
				defer b.mu.Unlock()
				clear(b.levels)
				return nil
			}
		}), []string{"handle/Close leaves buckets and others alone", "handle/Close twice is fine"}},
		{"fails to be closed twice", each(func(b *broken, _ int) {
			closed := false
			b.closing = func() error {
				if closed {
					return errors.New("it is closed")
				}
				closed = true
				return nil
			}
		}), []string{"handle/Close twice is fine"}},
		{"leaves a goroutine behind each call", leaky(func(b *broken, leak func()) {
			b.early = func(ctx context.Context) error {
				go leak()
				return ctx.Err()
			}
		}), []string{"handle/use leaves no goroutine"}},
		{"leaves a goroutine behind each handle", leaky(func(_ *broken, leak func()) { go leak() }), []string{"handle/Close leaves no goroutine"}},
	}
}

// leaky breaks a store with a func that returns when the case ends.
func leaky(breakIt func(b *broken, leak func())) opening {
	return func(r *recorder) func() store.Store {
		end := make(chan struct{})
		var once sync.Once
		return func() store.Store {
			b := &broken{storage: &storage{levels: map[string]store.Level{}}}
			r.Cleanup(func() { once.Do(func() { close(end) }) })
			breakIt(b, func() { <-end })
			return b
		}
	}
}

// stuck makes all calls wait once one was canceled while it waited.
func stuck() func(context.Context) error {
	var locked atomic.Bool
	return func(ctx context.Context) error {
		wait := 100 * time.Microsecond
		if locked.Load() {
			wait = time.Second
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			locked.Store(true)
		}
		return ctx.Err()
	}
}
