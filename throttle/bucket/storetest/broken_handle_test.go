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
)

// names breaks under which name a bucket is kept.
func names(name func(key string) string) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) { s.name = name })
}

func keyMutants() []mutant {
	anyBytes := []string{"key/of any bytes are apart"}
	return []mutant{
		{"does not tell upper case from lower", anyBytes, names(strings.ToLower)},
		{"ignores blanks at the end", anyBytes, names(func(key string) string { return strings.TrimRight(key, " ") })},
		{"ends keys at a NUL", anyBytes, names(func(key string) string {
			key, _, _ = strings.Cut(key, "\x00")
			return key
		})},
		{"repairs keys that are not UTF-8", anyBytes, names(func(key string) string { return strings.ToValidUTF8(key, "\ufffd") })},
		{"cuts long keys", []string{"key/long ones are apart"}, names(func(key string) string { return key[:min(len(key), 255)] })},
		{"hashes keys to few bits", []string{"key/many are apart"}, names(func(key string) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(key))
			return string(rune(h.Sum32() % 1000))
		})},
	}
}

func raceMutants() []mutant {
	lost := []string{
		"race/grants not one too many", "race/first requests of a bucket", "race/what is returned is granted again, once", "race/buckets do not share",
		"rate/not one too many and none lost in any time", "history/can be put in order", "history/can be put in order while tokens come back",
		"history/can be put in order across periods",
	}
	return []mutant{
		{"loses updates", lost, shared(func(s *storage) { s.unlocked = true })},
		{"answers from what it read before", []string{"history/can be put in order", "history/can be put in order while tokens come back"}, readsBefore()},
		{"takes twice what it grants now and then", []string{"race/grants not one too many", "rate/not one too many and none lost in any time"}, shared(func(s *storage) {
			n := 0
			s.take = func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
				next, d := v.Take(r.Limit, now, r.Min, r.Max)
				if n++; n%10 == 0 && d.Granted > 0 {
					next, _ = next.Take(r.Limit, now, 0, d.Granted)
				}
				return next, d
			}
		})},
		{"gives up when others write", []string{"race/grants not one too many", "history/can be put in order"}, each(func(b *broken, _ int) { b.early = busy(b.storage) })},
	}
}

// readsBefore decides rightly, but tells what others had left a moment before.
func readsBefore() func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		old := map[string][]bucket.Level{}
		s.take = func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			past := old[r.Key]
			if old[r.Key] = append(past, v); d.Allowed && d.Granted > 0 || len(past) < 3 {
				return next, d
			}
			_, d = past[len(past)-3].Take(r.Limit, now, 0, 0)
			return next, d
		}
	})
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
	return []mutant{
		{"has buckets for each handle", []string{"take/another handle sees it", "handle/Close leaves buckets and others alone", "handle/Close twice is fine", "race/grants not one too many"}, each(func(b *broken, _ int) {
			b.storage = &storage{levels: map[string]bucket.Level{}}
		})},
		{"takes though its context is over", []string{"context/canceled before", "context/past its deadline"}, each(func(b *broken, _ int) {
			b.early = func(context.Context) error { return nil }
			b.late = context.Context.Err
		})},
		{"does not look at its context", []string{"context/canceled before", "context/past its deadline"}, each(func(b *broken, _ int) {
			b.early = func(context.Context) error { return nil }
		})},
		{"waits for ever when its context is over", []string{"context/canceled before"}, leaky(func(b *broken, wait func()) {
			b.early = func(ctx context.Context) error {
				if ctx.Err() != nil {
					wait()
				}
				return nil
			}
		})},
		{"keeps a lock when its context ends", []string{"context/canceled meanwhile"}, each(func(b *broken, _ int) { b.early = stuck() })},
		{"takes more when its context ends", []string{"context/canceled meanwhile"}, takesMore()},
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

// leaky breaks a store with a func that returns when the case ends.
func leaky(breakIt func(b *broken, leak func())) func(*recorder) func() bucket.Store {
	return func(r *recorder) func() bucket.Store {
		end := make(chan struct{})
		var once sync.Once
		return func() bucket.Store {
			b := &broken{storage: &storage{levels: map[string]bucket.Level{}}}
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
			return ctx.Err()
		}
		return ctx.Err()
	}
}

// takesMore takes again and again until its context ends.
func takesMore() func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		s.take = func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if d.Granted == 2 { // as by a client that tries again what was not answered
				next, _ = next.Take(r.Limit, now, 1, 2)
			}
			return next, d
		}
	})
}
