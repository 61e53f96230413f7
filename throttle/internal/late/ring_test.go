package late

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const ms = time.Millisecond

// wantRest fails the test unless the ring holds no call.
func wantRest(t *testing.T, r *Ring) {
	t.Helper()
	if n := r.Open(); n != 0 || r.late != 0 || r.WrittenOff() != 0 {
		t.Errorf("at rest: got %d open, %d late, %d written off, want none", n, r.late, r.WrittenOff())
	}
	for row := range r.gone {
		if n := r.gone[row].Load(); n != 0 {
			t.Errorf("at rest: row %d has %d calls that were written off, want none", row, n)
		}
	}
	for i := range r.words {
		if n := uint32(r.words[i].Load()); n != 0 {
			t.Errorf("at rest: word %d has %d calls, want none", i, int32(n))
		}
	}
	for slot, rows := range r.old {
		if rows != [MaxRows]int64{} {
			t.Errorf("at rest: slot %d of late calls has %v, want none", slot, rows)
		}
	}
	if got := r.Oldest(time.Hour); got != 0 || len(r.lost) != 0 {
		t.Errorf("at rest: the oldest call is %v old, and %v are written off, want none", got, r.lost)
	}
}

// TestTheClockMayJump: a ring with calls from before and after a pause, and from a clock that goes back.
func TestTheClockMayJump(t *testing.T) {
	r := New(80*ms, 1, 2)
	var open []time.Duration
	var late int64
	for _, now := range []time.Duration{0, 75 * ms, time.Hour, time.Hour + 3*ms, time.Minute, -time.Hour, 2 * time.Hour, 1000 * time.Hour} {
		f, _ := r.Advance(now)
		late += f.Late[0]
		open = append(open, r.Begin(now, 1, 0))
	}
	if late != 7 {
		t.Errorf("%d calls became late, want 7", late)
	}
	for _, slot := range open {
		r.End(slot, 1, 0)
	}
	wantRest(t, r)
}

// TestRandomCalls compares the ring with a list of the open calls, whatever the order of ends.
func TestRandomCalls(t *testing.T) {
	type call struct {
		began       time.Duration
		slot        time.Duration
		stripe, row int
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		slow := time.Duration(1+random.IntN(2000)) * ms
		r := New(slow, 3, 2)
		var calls []call
		var late, lost, booked, ended int64
		now := time.Duration(0)
		check := func(f Found) {
			for row := range MaxRows {
				late, lost, booked = late+f.Late[row], lost+f.Lost[row], booked+f.Booked[row]
			}
			var least, most, gone int64
			for _, c := range calls {
				if age := now - c.began; age >= slow+slow/parts {
					least++
				}
				if now-c.began >= slow {
					most++
				}
				if now-c.began > r.oldWidth*(writeOffParts+2)+slow/parts {
					gone++
				}
			}
			if open := r.late + r.WrittenOff(); open < least || open > most || r.WrittenOff() < gone {
				t.Fatalf("seed %d at %v: %d late or written off, want %d to %d; %d written off, want %d",
					seed, now, open, least, most, r.WrittenOff(), gone)
			}
			var oldest time.Duration
			for _, c := range calls {
				oldest = max(oldest, now-c.began)
			}
			if got := r.Oldest(now); got < oldest || got > oldest+r.width+r.oldWidth {
				t.Fatalf("seed %d at %v: the oldest call is %v old, want %v", seed, now, got, oldest)
			}
			if got, want := r.Open(), int64(len(calls))-r.WrittenOff(); got != want {
				t.Fatalf("seed %d: %d open, want %d", seed, got, want)
			}
			var open int64 // of the rows so far
			for row := range 3 {
				for _, c := range calls {
					if c.row == row {
						open++
					}
				}
				if open -= r.gone[row].Load(); r.OpenTo(row) != open {
					t.Fatalf("seed %d: %d open up to row %d, want %d", seed, r.OpenTo(row), row, open)
				}
			}
		}
		for range 2000 {
			now += time.Duration(random.ExpFloat64() * float64(slow) / float64(1+random.IntN(40)))
			f, _ := r.Advance(now)
			check(f)
			if random.IntN(20) > 9 || len(calls) == 0 {
				c := call{began: now, stripe: random.IntN(2), row: random.IntN(3)}
				c.slot = r.Begin(now, c.stripe, c.row)
				calls = append(calls, c)
				continue
			}
			i := random.IntN(len(calls))
			if r.End(calls[i].slot, calls[i].stripe, calls[i].row) {
				ended++
			}
			calls[i] = calls[len(calls)-1]
			calls = calls[:len(calls)-1]
		}
		for _, c := range calls {
			if r.End(c.slot, c.stripe, c.row) {
				ended++
			}
		}
		if booked < late/3-3 || booked > late/3+lost || ended < booked-3 || late == 0 {
			t.Errorf("seed %d: %d late, %d lost, %d booked, %d ended as booked", seed, late, lost, booked, ended)
		}
		wantRest(t, r)
	}
}

// TestConcurrentCalls: goroutines begin and end calls in any order while others sweep.
func TestConcurrentCalls(t *testing.T) {
	const workers, rounds = 8, 10000
	r := New(8*ms, 1, 2)
	var clock, late, lost, booked, ended atomic.Int64
	var all sync.WaitGroup
	note := func(now time.Duration) {
		f, _ := r.Advance(now)
		for row := range MaxRows {
			late.Add(f.Late[row])
			lost.Add(f.Lost[row])
			booked.Add(f.Booked[row])
		}
	}
	for worker := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			type call struct {
				slot   time.Duration
				stripe int
			}
			var open []call
			end := func(i int) {
				if r.End(open[i].slot, open[i].stripe, 0) {
					ended.Add(1)
				}
				open[i] = open[len(open)-1]
				open = open[:len(open)-1]
			}
			for range rounds {
				step := ms
				if random.IntN(500) == 0 {
					step = time.Duration(random.IntN(20)) * time.Second
				}
				now := time.Duration(clock.Add(int64(step)))
				note(now)
				c := call{stripe: random.IntN(2)}
				c.slot = r.Begin(now-9*ms, c.stripe, 0) // into the slot that is closed next
				open = append(open, c)
				for len(open) > random.IntN(20) {
					end(random.IntN(len(open)))
				}
			}
			for len(open) > 0 {
				end(len(open) - 1)
			}
		})
	}
	all.Wait()
	if late.Load() == 0 || lost.Load() == 0 || booked.Load() < late.Load()/3-2 {
		t.Errorf("got %d late, %d lost, %d booked", late.Load(), lost.Load(), booked.Load())
	}
	if r.began != r.ended {
		t.Errorf("%v calls became late, and %v of these ended or were written off", r.began, r.ended)
	}
	wantRest(t, r)
}
