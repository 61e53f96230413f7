package storetest

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func limitFaults() []fault {
	var only bucket.Limit
	changed := []string{"limit/raised", "limit/lowered", "limit/another rate"}
	return []fault{
		{"keeps the first limit of a bucket", changed, limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) { *l = first })},
		{"fills when the limit changes", changed, limits(func(first bucket.Limit, v *store.Level, l *bucket.Limit) {
			if *l != first {
				*v = store.Level{}
			}
		})},
		{"grants too much when the algorithm changes", []string{"limit/another algorithm"}, limits(func(first bucket.Limit, _ *store.Level, l *bucket.Limit) {
			if l.Algorithm != first.Algorithm {
				l.Capacity *= 2
			}
		})},
		{"has one limit for all buckets", []string{"limit/two keys, two limits"}, asks(func(r *store.Request) {
			if only == (bucket.Limit{}) {
				only = r.Limit
			}
			r.Limit = only
		})},
		{"keeps what was used of a fixed bucket while it is continuous", []string{"limit/another algorithm and back"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if r.Limit.Algorithm == bucket.Continuous {
				next.Used = v.Used
			}
			return next, d
		})},
	}
}

func keyFaults() []fault {
	anyBytes := []string{"key/of any bytes are apart"}
	return []fault{
		{"does not tell upper case from lower", anyBytes, names(strings.ToLower)},
		{"ignores blanks at the end", anyBytes, names(func(key string) string { return strings.TrimRight(key, " ") })},
		{"ends keys at a NUL", anyBytes, names(func(key string) string { key, _, _ = strings.Cut(key, "\x00"); return key })},
		{"repairs keys that are not UTF-8", anyBytes, names(func(key string) string { return strings.ToValidUTF8(key, "\ufffd") })},
		{"cuts long keys", []string{"key/long ones are apart"}, names(func(key string) string { return key[:min(len(key), 255)] })},
		{"hashes keys to few bits", []string{"key/many are apart"}, names(func(key string) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(key))
			return string(rune(h.Sum32() % 1000))
		})},
	}
}

func raceFaults() []fault {
	return []fault{
		{"loses updates", []string{"race/grants not one too many", "race/first requests of a bucket", "race/what is returned is granted again, once", "race/buckets do not share", "rate/not one too many and none lost in any time", "history/can be put in order", "history/can be put in order while tokens come back", "history/can be put in order across periods"}, shared(func(s *storage) { s.unlocked = true })},
		{"gives up when others write", []string{"race/grants not one too many", "history/can be put in order"}, each(func(b *broken, _ int) { b.early = busy(b.storage) })},
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

func handleFaults() []fault {
	heedless := func(context.Context) error { return nil }
	return []fault{
		{"has buckets for each handle", []string{"take/another handle sees it", "handle/Close leaves buckets and others alone", "handle/Close twice is fine", "race/grants not one too many"}, each(func(b *broken, _ int) { b.storage = &storage{levels: map[string]store.Level{}} })},
		{"takes though its context is over", []string{"context/canceled before", "context/past its deadline"}, each(func(b *broken, _ int) { b.early, b.late = heedless, context.Context.Err })},
		{"does not look at its context", []string{"context/canceled before", "context/past its deadline"}, each(func(b *broken, _ int) { b.early = heedless })},
		{"waits for ever when its context is over", []string{"context/canceled before"}, leaky(func(b *broken, wait func()) {
			b.early = func(ctx context.Context) error {
				if ctx.Err() != nil {
					wait()
				}
				return nil
			}
		})},
		{"keeps a lock when its context ends", []string{"context/canceled meanwhile"}, each(func(b *broken, _ int) { b.early = stuck() })},
		{"takes more when its context ends", []string{"context/canceled meanwhile"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if d.Granted == 2 { // as a client does that repeats a request without an answer
				next, _ = next.Take(r.Limit, now, 1, 2)
			}
			return next, d
		})},
		{"fills all buckets when it is closed", []string{"handle/Close leaves buckets and others alone", "handle/Close twice is fine"}, each(func(b *broken, _ int) {
			b.closing = func() error {
				b.mu.Lock()
				defer b.mu.Unlock()
				clear(b.levels)
				return nil
			}
		})},
		{"fails to be closed twice", []string{"handle/Close twice is fine"}, each(func(b *broken, _ int) {
			closed := false
			b.closing = func() error {
				if closed {
					return errors.New("it is closed")
				}
				closed = true
				return nil
			}
		})},
		{"leaves a goroutine behind each call", []string{"handle/use leaves no goroutine"}, leaky(func(b *broken, leak func()) {
			b.early = func(ctx context.Context) error {
				go leak()
				return ctx.Err()
			}
		})},
		{"leaves a goroutine behind each handle", []string{"handle/Close leaves no goroutine"}, leaky(func(_ *broken, leak func()) { go leak() })},
	}
}

// leaky breaks every handle with a func that blocks until the case ends.
func leaky(breakIt func(b *broken, block func())) opener {
	return func(r *kit.Recorder) func() store.Store {
		return each(func(b *broken, _ int) { breakIt(b, func() { <-r.Context().Done() }) })(r)
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
