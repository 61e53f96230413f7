package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// event is an event in the simple model, which is a list of all events.
type event struct {
	bucket      int64
	row, column int
}

// model returns the counts that the window should have: of the open bucket and the n before it.
func model(events []event, open, n int64, rows int) []Counts {
	sums := make([]Counts, rows)
	for _, h := range events {
		if h.bucket < open-n {
			continue
		}
		switch h.column {
		case 0, 1:
			sums[h.row].Accepted++
		case 2:
			sums[h.row].Rejected++
		case 3:
			sums[h.row].Rejected++
			sums[h.row].Full++
		case 4, 5, 6:
			sums[h.row].Shed++
		}
	}
	return sums
}

func TestItAgreesWithAListOfEvents(t *testing.T) {
	const rows = 3
	seeds, steps := uint64(60), 1500
	if testing.Short() {
		seeds, steps = 8, 600
	}
	for seed := range seeds {
		dice := rand.New(rand.NewPCG(seed, 1))
		span, buckets := time.Duration(1+dice.IntN(3600))*time.Second, 2+dice.IntN(130)
		recent := 1 + dice.IntN(buckets)
		w := New(Shape{Span: span, Buckets: buckets, Recent: recent, Rows: rows, Stripes: 4})
		width := span / time.Duration(buckets)
		var events []event
		var now time.Duration
		for step := range steps {
			now += stepOf(dice, width, span)
			h := event{bucket: int64(now / width), row: dice.IntN(rows), column: dice.IntN(Columns)}
			count(w, now, dice.IntN(w.Stripes()), h.row, h.column)
			events = append(events, h)
			if step%10 != 0 {
				continue
			}
			got := Reading{Span: make([]Counts, rows), Recent: make([]Counts, rows), Ever: make([]Counts, rows)}
			w.ReadAt(now, got)
			want := Reading{
				Span:   model(events, h.bucket, int64(buckets), rows),
				Recent: model(events, h.bucket, int64(recent), rows),
				Ever:   model(events, h.bucket, h.bucket, rows),
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d: got %v, want %v", seed, step, got, want)
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
