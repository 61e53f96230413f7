package storetest

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// givesBack breaks what is returned, in tokens, or the level.
func givesBack(change func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) { s.giveBack = change })
}

func returnMutants() []mutant {
	return []mutant{
		{"ignores a Return", []string{"return/gives back as many", "race/what is returned is granted again, once"}, givesBack(func(v bucket.Level, _ bucket.Limit, _, _ int64) bucket.Level { return v })},
		{"gives back one at a time", []string{"return/gives back as many"}, givesBack(func(v bucket.Level, l bucket.Limit, now, _ int64) bucket.Level { return v.Return(l, now, 1) })},
		{"gives back twice", []string{"return/gives back as many", "race/what is returned is granted again, once", "key/of any bytes are apart"}, givesBack(func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			return v.Return(l, now, n).Return(l, now, n)
		})},
		{"gives back more than there is place for", []string{"return/never above capacity", "return/to a bucket that nobody knows"}, shared(func(s *storage) {
			surplus := map[string]int64{}
			s.giveBack = func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
				next := v.Return(l, now, n)
				if next.Full(l, now) {
					surplus[said(l)] += min(n, 1)
				}
				return next
			}
			s.limit = func(r bucket.Request) bucket.Limit {
				l := r.Limit
				r.Limit.Capacity += surplus[said(l)]
				return r.Limit
			}
		})},
		{"overflows when very many are returned", []string{"return/never above capacity"}, givesBack(func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			if l.Algorithm == bucket.Fixed {
				return bucket.Level{At: v.At, Used: v.Used - n}
			}
			return bucket.Level{At: max(now, v.At-n*int64(l.Interval()))}
		})},
		{"takes when less than nothing is returned", []string{"return/nothing, and less than that"}, givesBack(func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			if n < 0 {
				v, _ = v.Take(l, now, 0, 1)
				return v
			}
			return v.Return(l, now, n)
		})},
		{"fills when nothing is returned", []string{"return/nothing, and less than that"}, givesBack(func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			if n <= 0 {
				return bucket.Level{}
			}
			return v.Return(l, now, n)
		})},
		{"returns to all buckets", []string{"return/to one bucket only"}, shared(func(s *storage) {
			s.giveBack = func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
				for key, other := range s.levels {
					s.levels[key] = other.Return(l, now, n)
				}
				return v.Return(l, now, n)
			}
		})},
		{"empties a bucket to which too much is returned", []string{"return/to a bucket that nobody knows"}, givesBack(func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			if v == (bucket.Level{}) {
				v, _ = v.Take(l, now, 0, l.Capacity)
			}
			return v.Return(l, now, n)
		})},
		{"gives the present period what the last one had", []string{"return/what was taken in another period is lost"}, givesToThePresent()},
		{"resets nothing", []string{"reset/fills", "take/another handle sees it"}, shared(func(s *storage) { s.reset = func(*storage, string) {} })},
		{"empties a bucket that nobody knows when it is reset", []string{"reset/of a bucket that nobody knows"}, shared(func(s *storage) {
			s.reset = func(s *storage, key string) {
				if _, known := s.levels[key]; known {
					s.levels[key] = bucket.Level{}
					return
				}
				s.levels[key], _ = bucket.Level{}.Take(lasting(3, bucket.Continuous), 1<<62, 0, 3)
			}
		})},
		{"resets all buckets", []string{"reset/fills one bucket only"}, shared(func(s *storage) {
			s.reset = func(s *storage, _ string) { maps.DeleteFunc(s.levels, func(string, bucket.Level) bool { return true }) }
		})},
	}
}

func limitMutants() []mutant {
	return []mutant{
		{"keeps the first limit of a bucket", []string{"limit/raised", "limit/lowered", "limit/another rate"}, shared(func(s *storage) {
			first := map[string]bucket.Limit{}
			s.limit = func(r bucket.Request) bucket.Limit {
				if _, known := first[r.Key]; !known {
					first[r.Key] = r.Limit
				}
				return first[r.Key]
			}
		})},
		{"has one limit for all buckets", []string{"limit/two keys, two limits"}, shared(func(s *storage) {
			var first bucket.Limit
			s.limit = func(r bucket.Request) bucket.Limit {
				if first == (bucket.Limit{}) {
					first = r.Limit
				}
				return first
			}
		})},
		{"fills when the limit changes", []string{"limit/raised", "limit/lowered", "limit/another rate"}, forgetsOn(func(a, b bucket.Limit) bool { return a != b })},
		{"fills when the limit falls", []string{"limit/lowered"}, forgetsOn(func(a, b bucket.Limit) bool { return b.Capacity < a.Capacity })},
		{"keeps what was used of a fixed bucket while it is continuous", []string{"limit/another algorithm and back"}, takes(
			func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
				next, d := v.Take(r.Limit, now, r.Min, r.Max)
				if r.Limit.Algorithm == bucket.Continuous {
					next.Used = v.Used
				}
				return next, d
			},
		)},
		{"grants too much when the algorithm changes", []string{"limit/another algorithm"}, shared(func(s *storage) {
			last := map[string]bucket.Algorithm{}
			s.limit = func(r bucket.Request) bucket.Limit {
				if a, known := last[r.Key]; known && a != r.Limit.Algorithm {
					r.Limit.Capacity *= 2
				}
				last[r.Key] = r.Limit.Algorithm
				return r.Limit
			}
		})},
	}
}

// forgetsOn makes a bucket full when its limit changes in some way.
func forgetsOn(change func(a, b bucket.Limit) bool) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		last := map[string]bucket.Limit{}
		s.take = func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			if l, known := last[r.Key]; known && change(l, r.Limit) {
				v = bucket.Level{}
			}
			last[r.Key] = r.Limit
			return v.Take(r.Limit, now, r.Min, r.Max)
		}
	})
}

// givesToThePresent keeps what is given back of another period as less than nothing that was used, and grants it.
func givesToThePresent() func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		s.giveBack = func(v bucket.Level, l bucket.Limit, now, n int64) bucket.Level {
			if begins := now - now%int64(l.Period); l.Algorithm == bucket.Fixed && v.At < begins {
				return bucket.Level{At: begins, Used: -n}
			}
			return v.Return(l, now, n)
		}
		s.take = func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			l := r.Limit
			if v.Used < 0 {
				l.Capacity, v.Used = l.Capacity-v.Used, 0
			}
			next, d := v.Take(l, now, r.Min, r.Max)
			d.Limit = r.Limit.Capacity
			return next, d
		}
	})
}

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
