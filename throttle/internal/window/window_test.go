package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

func newWindow(span time.Duration, buckets, rows int) *Window {
	return New(Shape{Span: span, Buckets: buckets, Rows: rows, Stripes: 4})
}

// count books an event as a user of the package does.
func count(w *Window, now time.Duration, stripe, row, column int) {
	if w.Due(now) {
		w.Roll(now)
	}
	w.Row(stripe, row)[column].Add(1)
}

func sumAt(w *Window, now time.Duration, rows int) []Counts {
	sums := make([]Counts, rows)
	w.ReadAt(now, Reading{Span: sums})
	return sums
}

func TestAnEventStaysForTheSpanAndLeavesABucketLaterAtAnyPolling(t *testing.T) {
	const span, buckets = time.Minute, 120
	bucket := span / buckets
	for _, poll := range []time.Duration{
		100 * time.Millisecond, 499 * time.Millisecond, bucket, 3 * time.Second, 5900 * time.Millisecond, 9 * time.Second,
		11900 * time.Millisecond, 29 * time.Second, span / 2,
	} {
		for _, at := range []time.Duration{0, 1, bucket / 3, bucket - 1, bucket, 7*bucket + 1, 3 * span} {
			t.Run(fmt.Sprintf("poll %v, event at %v", poll, at), func(t *testing.T) {
				w := newWindow(span, buckets, 1)
				count(w, at, 0, 0, 0)
				for now := at; now <= at+2*span; now += poll {
					got := sumAt(w, now, 1)[0].Accepted
					if age := now - at; age < span && got != 1 {
						t.Fatalf("the event was forgotten at the age of %v", age)
					} else if age >= span+bucket && got != 0 {
						t.Fatalf("the event was still there at the age of %v", age)
					}
				}
			})
		}
	}
}

func TestAnEventIsForgottenWithoutPolling(t *testing.T) {
	for _, silence := range []time.Duration{time.Minute + 500*time.Millisecond, 2 * time.Minute, 1000 * time.Hour, endOfTime, 1<<63 - 1} {
		w := newWindow(time.Minute, 120, 1)
		count(w, 0, 0, 0, 0)
		if got := sumAt(w, silence, 1)[0].Accepted; got != 0 {
			t.Errorf("after %v of silence: got %d events, want 0", silence, got)
		}
		count(w, silence, 0, 0, 0)
		if got := sumAt(w, silence, 1)[0].Accepted; got != 1 {
			t.Errorf("an event after %v of silence: got %d events, want 1", silence, got)
		}
	}
}

func TestTimeRunningBackwardsIsIgnored(t *testing.T) {
	w := newWindow(time.Minute, 120, 1)
	count(w, 10*time.Minute, 0, 0, 0)
	for _, now := range []time.Duration{9*time.Minute + 59*time.Second, 9 * time.Minute, 8*time.Minute + time.Second} {
		count(w, now, 0, 0, 0)
	}
	if got := sumAt(w, 10*time.Minute, 1)[0].Accepted; got != 4 {
		t.Errorf("got %d events, want 4", got)
	}
	if got := sumAt(w, 11*time.Minute+500*time.Millisecond, 1)[0].Accepted; got != 0 {
		t.Errorf("got %d events a window later, want 0", got)
	}
}

func TestTimeGoesOnFromWhereAClockHasJumpedBackTo(t *testing.T) {
	const start = 1000 * time.Hour
	for _, back := range []time.Duration{3 * time.Minute, time.Hour, start, 10 * start, start + 1<<62} {
		w := newWindow(time.Minute, 120, 1)
		count(w, start, 0, 0, 0)
		now := start - back
		count(w, now, 0, 0, 0)
		if got := sumAt(w, now+30*time.Second, 1)[0].Accepted; got != 2 {
			t.Errorf("back by %v: got %d events half a minute later, want both", back, got)
		}
		count(w, now+30*time.Second, 0, 0, 0)
		if got := sumAt(w, now+62*time.Second, 1)[0].Accepted; got != 1 {
			t.Errorf("back by %v: got %d events a minute later, want the last", back, got)
		}
		if got := sumAt(w, now+92*time.Second, 1)[0].Accepted; got != 0 {
			t.Errorf("back by %v: got %d events a minute after the last, want 0", back, got)
		}
	}
}

// happening is an event in the naive model: a list of everything that ever happened.
type happening struct {
	bucket      int64
	row, column int
}

// model is what the window should hold: whatever happened in the open bucket or one of the n before it.
func model(happened []happening, open, n int64, rows int) []Counts {
	sums := make([]Counts, rows)
	for _, h := range happened {
		if h.bucket < open-n {
			continue
		}
		switch h.column {
		case 0, 1:
			sums[h.row].Accepted++
		case 2:
			sums[h.row].Rejected++
		case 3, 4, 5:
			sums[h.row].Shed++
		}
	}
	return sums
}

func TestItAgreesWithAListOfEvents(t *testing.T) {
	const rows = 3
	for seed := range uint64(60) {
		dice := rand.New(rand.NewPCG(seed, 1))
		span, buckets := time.Duration(1+dice.IntN(3600))*time.Second, 2+dice.IntN(130)
		recent := 1 + dice.IntN(buckets)
		w := New(Shape{Span: span, Buckets: buckets, Recent: recent, Rows: rows, Stripes: 4})
		width := span / time.Duration(buckets)
		var happened []happening
		var now time.Duration
		for step := range 1500 {
			now += stepOf(dice, width, span)
			h := happening{bucket: int64(now / width), row: dice.IntN(rows), column: dice.IntN(Columns)}
			count(w, now, dice.IntN(w.Stripes()), h.row, h.column)
			happened = append(happened, h)
			if step%10 != 0 {
				continue
			}
			got := Reading{Span: make([]Counts, rows), Recent: make([]Counts, rows), Ever: make([]Counts, rows)}
			w.ReadAt(now, got)
			want := Reading{
				Span:   model(happened, h.bucket, int64(buckets), rows),
				Recent: model(happened, h.bucket, int64(recent), rows),
				Ever:   model(happened, h.bucket, h.bucket, rows),
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d: got %v, want %v", seed, step, got, want)
			}
			if step%150 == 0 {
				checkSuffixes(t, w, happened, h.bucket)
			}
		}
	}
}

// stepOf is mostly less than a bucket, sometimes some buckets, seldom more than the span.
func stepOf(dice *rand.Rand, width, span time.Duration) time.Duration {
	switch n := dice.IntN(100); {
	case n < 80:
		return time.Duration(dice.Int64N(int64(width)))
	case n < 99:
		return time.Duration(dice.Int64N(int64(5 * width)))
	}
	return time.Duration(dice.Int64N(int64(2 * span)))
}

func checkSuffixes(t *testing.T, w *Window, happened []happening, open int64) {
	t.Helper()
	ever, scratch, total := make([]Counts, 3), make([]Counts, 3), make([]Counts, 3)
	visits := 0
	w.Suffixes(ever, scratch, func(age int, since []Counts) {
		if age != visits {
			t.Fatalf("visit %d is said to be of age %d", visits, age)
		}
		if want := model(happened, open, int64(age), 3); fmt.Sprint(since) != fmt.Sprint(want) {
			t.Fatalf("since %d buckets ago (of %d): got %v, want %v", age, w.Buckets(), since, want)
		}
		visits++
	})
	if w.Ever(total); !slices.Equal(ever, total) {
		t.Fatalf("got %v in all, want %v", ever, total)
	}
}

func TestSuffixesEndWithTheWholeSpan(t *testing.T) {
	w := newWindow(10*time.Second, 10, 1)
	for now := range 25 {
		count(w, time.Duration(now)*time.Second, 0, 0, 0)
	}
	var last uint64
	visits := 0
	w.Suffixes(make([]Counts, 1), make([]Counts, 1), func(_ int, since []Counts) {
		last = since[0].Accepted
		visits++
	})
	if whole := sumAt(w, 24*time.Second, 1)[0].Accepted; last != whole || visits != 11 {
		t.Errorf("got %d events after %d visits, want %d after 11", last, visits, whole)
	}
}

func TestTotalsEqualWhatEveryGoroutineCounted(t *testing.T) {
	const goroutines, events, rows = 64, 2000, 4
	w := New(Shape{Span: time.Second, Buckets: 120, Rows: rows})
	base := time.Now()
	var mu sync.Mutex
	var want [rows][Columns]uint64
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(g), 2))
			var own [rows][Columns]uint64
			for range events {
				row, column := dice.IntN(rows), dice.IntN(Columns)
				count(w, time.Since(base), w.Pick(), row, column)
				own[row][column]++
				if dice.IntN(50) == 0 {
					sumAt(w, time.Since(base), rows)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for row := range own {
				for column, n := range own[row] {
					want[row][column] += n
				}
			}
		})
	}
	all.Wait()
	for row := range want {
		for column, n := range want[row] {
			if got := w.Total(row, column); got != n {
				t.Errorf("row %d, column %d: got %d, want %d", row, column, got, n)
			}
		}
	}
}

func TestTheWindowHoldsNoMoreThanHappenedWhileManyCount(t *testing.T) {
	w := New(Shape{Span: time.Hour, Buckets: 120, Rows: 1})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range 1000 {
				count(w, time.Duration(i)*10*time.Millisecond, w.Pick(), 0, 0)
			}
		})
	}
	all.Wait()
	if got := sumAt(w, 10*time.Second, 1)[0].Accepted; got != 64_000 {
		t.Errorf("got %d events in the window, want all 64000", got)
	}
}

func TestRollDoesNotWaitForAnotherWithinABucket(*testing.T) {
	w := newWindow(time.Second, 100, 1)
	w.mu.Lock() // another one rolls; waiting for it would never end
	defer w.mu.Unlock()
	w.Roll(w.Width())
	w.Roll(2*w.Width() - 1)
}

func TestRollWaitsForAnotherAfterAPause(t *testing.T) {
	w := newWindow(time.Second, 100, 1)
	w.mu.Lock()
	rolled := make(chan bool)
	go func() {
		w.Roll(time.Hour)
		rolled <- !w.Due(time.Hour)
	}()
	runtime.Gosched()
	w.mu.Unlock()
	if !<-rolled {
		t.Error("Roll returned before the window had moved on: the first event after a pause would be booked before it")
	}
}

func TestStripesAreAPowerOfTwo(t *testing.T) {
	for wish, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 16: 16, 17: 32} {
		if got := stripesFor(wish); got != want {
			t.Errorf("%d wished: got %d, want %d", wish, got, want)
		}
	}
	for _, wish := range []int{0, -1} {
		if got := stripesFor(wish); got < fewestStripes || got > mostStripes {
			t.Errorf("%d wished: got %d, want %d to %d", wish, got, fewestStripes, mostStripes)
		}
	}
}

func TestPicksLieWithinTheStripesAndDiffer(t *testing.T) {
	w := newWindow(time.Second, 10, 1)
	var mu sync.Mutex
	seen := map[int]bool{}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			pick := w.Pick()
			mu.Lock()
			defer mu.Unlock()
			seen[pick] = true
		})
	}
	all.Wait()
	for pick := range seen {
		if pick < 0 || pick >= w.Stripes() {
			t.Errorf("picked stripe %d of %d", pick, w.Stripes())
		}
	}
	if len(seen) < 2 {
		t.Errorf("200 goroutines picked %d stripe, want several", len(seen))
	}
}
