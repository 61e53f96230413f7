package fairness

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// tenant sends calls at a rate per second.
type tenant struct {
	key           string
	rate          float64
	offered, shed float64
}

func (t *tenant) served() float64 { return (t.offered - t.shed) / t.offered }

// equal returns n tenants that together send calls at a rate.
func equal(n int, rate float64) []*tenant {
	var all []*tenant
	for i := range n {
		all = append(all, &tenant{key: fmt.Sprint("tenant ", i), rate: rate / float64(n)})
	}
	return all
}

// play sends the calls of tenants for some time, with the probability p. What the second half of them meets
// is counted. Keys, if set, gives each call of the last tenant its key.
func play(t *Table, length time.Duration, p float64, keys func(call int) string, all ...*tenant) {
	dice := rand.New(rand.NewPCG(1, 2))
	var upTo []float64
	total := 0.0
	for _, o := range all {
		total += o.rate
		upTo = append(upTo, total)
	}
	calls := int(total * length.Seconds())
	for i := range calls {
		x, k := dice.Float64()*total, 0
		for upTo[k] < x {
			k++
		}
		key := all[k].key
		if keys != nil && k == len(all)-1 {
			key = keys(i)
		}
		now := time.Duration(float64(i) / float64(calls) * float64(length))
		own, _ := t.Decide(key, 0, i, now, p, dice.Uint64())
		if i >= calls/2 {
			all[k].offered++
			all[k].shed += own
		}
	}
}

func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func sum(all []*tenant) (offered, shed float64) {
	for _, o := range all {
		offered, shed = offered+o.offered, shed+o.shed
	}
	return offered, shed
}

// newTable returns a table with fixed hashes, so that each run gives the same result.
func newTable(weight func(string) float64) *Table {
	return New(Config{Rows: 8, Stripes: 4, Weight: weight, Exact: true})
}

// TestAsManyAreShed compares the share that is shed with the probability, for any demand.
func TestAsManyAreShed(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		n := 2 + dice.IntN(2000)
		all := equal(n, 50*math.Pow(100, dice.Float64()))
		for i, o := range all {
			o.rate *= math.Pow(float64(i+1), -2*dice.Float64())
		}
		p := 0.05 + 0.9*dice.Float64()
		play(newTable(nil), 30*time.Second, p, nil, all...)
		offered, shed := sum(all)
		if got := shed / offered; offered > 300 && math.Abs(got-p) > 0.02+2*math.Sqrt(p*(1-p)/offered) {
			t.Errorf("%d tenants, %.0f calls: shed %.3f, want %.3f", n, offered, got, p)
		}
	}
}

func TestWeights(t *testing.T) {
	weights := map[string]float64{"tenant 0": 1, "tenant 1": 2, "tenant 2": 4}
	all := equal(3, 5000)
	play(newTable(func(key string) float64 { return weights[key] }), time.Minute, 0.8, nil, all...)
	one := all[0].served()
	for i, want := range []float64{1, 2, 4} {
		if got := all[i].served() / one; math.Abs(got/want-1) > 0.1 {
			t.Errorf("weight %v: served %.2f times as much, want %v", want, got, want)
		}
	}
}

func TestBadWeightsAreOne(t *testing.T) {
	for _, w := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -3} {
		same(t, fmt.Sprint("weight ", w), newTable(func(string) float64 { return w }).weightOf(""), 1)
	}
	same(t, "weight of a function that panics", newTable(func(string) float64 { panic("no weight") }).weightOf(""), 1)
	for w, want := range map[float64]float64{1e9: MostWeight, 1e-9: LeastWeight, 3: 3} {
		same(t, fmt.Sprint("weight ", w), newTable(func(string) float64 { return w }).weightOf(""), want)
	}
}

// TestATenantThatIsAloneAgain has several tenants, and later only one.
func TestATenantThatIsAloneAgain(t *testing.T) {
	table := newTable(nil)
	play(table, 20*time.Second, 0.5, nil, equal(2, 1000)...)
	own, _ := table.Decide("only", 0, 0, time.Hour, 0.3, 0)
	same(t, "probability", own, 0.3)
}

// TestTable_Spares: calls of tenants below their share are spared, and that counts for two seconds.
func TestTable_Spares(t *testing.T) {
	table, alone := newTable(nil), newTable(nil)
	play(table, 20*time.Second, 5.0/6, nil, append(equal(99, 6), &tenant{key: "greedy", rate: 5400})...)
	play(alone, 20*time.Second, 0.5, nil, equal(1, 1000)...)
	for _, c := range []struct {
		table *Table
		after time.Duration
		want  bool
	}{{table, 20 * time.Second, true}, {table, 23 * time.Second, false}, {alone, 20 * time.Second, false}, {newTable(nil), 0, false}} {
		same(t, fmt.Sprint("spares after ", c.after), c.table.Spares(c.after), c.want)
	}
}

// TestTable_forgets has a pause so long that the numbers of ticks begin again, and old calls would look new.
func TestTable_forgets(t *testing.T) {
	table := newTable(nil)
	for range 100 {
		table.Decide("old", 0, 0, 0, 0.5, 0)
	}
	pause := (tickMask + 1) * tick
	table.Decide("new", 0, 0, pause, 0.5, 0)
	if calls := table.Rows(pause)[0].Calls; calls > 2 {
		t.Errorf("got %v calls, want those after the pause", calls)
	}
}

// TestTable_clockBeforeNew has a clock of a user that showed a time before the table was made, for a moment.
func TestTable_clockBeforeNew(t *testing.T) {
	table := newTable(nil)
	table.Decide("early", 0, 0, -time.Hour, 0.5, 0)
	play(table, 20*time.Second, 5.0/6, nil, append(equal(99, 6), &tenant{key: "greedy", rate: 5400})...)
	if _, above := table.Decide("greedy", 0, 0, 20*time.Second, 5.0/6, 0); !above || table.Rows(20 * time.Second)[0].Above != 1 {
		t.Errorf("got above %t, rows %+v want one tenant above its share", above, table.Rows(20 * time.Second)[0])
	}
}

// TestMillionKeys uses as much memory as one key, and keeps apart the few tenants that send most.
func TestMillionKeys(t *testing.T) {
	if size := unsafe.Sizeof(Table{}); size > 36<<10 {
		t.Errorf("a table takes %d bytes, want at most 36 KiB", size)
	}
	for rows := 2; rows <= 32; rows += 2 {
		table := New(Config{Rows: rows, Stripes: 64})
		size := int(unsafe.Sizeof(*table)) + 4*len(table.shares.fresh) + rows*int(unsafe.Sizeof(histogram{})) + rows*int(unsafe.Sizeof(rate{}))
		size += MostNames * (int(unsafe.Sizeof(name{})) + nameLength + len("…") + int(unsafe.Sizeof("")))
		if size > 64<<10 {
			t.Errorf("%d rows take %d bytes, want at most 64 KiB", rows, size)
		}
	}
	all := append(equal(20, 600), &tenant{key: "crowd", rate: 17_000})
	table := newTable(nil)
	allocs := testing.AllocsPerRun(1, func() { table.Decide("a", 0, 0, 0, 0.5, 1) })
	same(t, "allocations of a call", allocs, 0)
	play(table, time.Minute, 0.3, func(call int) string { return fmt.Sprint(call) }, all...)
	if offered, shed := sum(all); math.Abs(shed/offered-0.3) > 0.03 {
		t.Errorf("shed %.3f, want 0.3", shed/offered)
	}
}

// TestTable_clockGoesBack has a clock of a user that showed a later time for a while.
func TestTable_clockGoesBack(t *testing.T) {
	table := newTable(nil)
	for i := range 2000 {
		table.Decide(fmt.Sprint("late ", i%400), 0, 0, time.Hour+time.Duration(i)*tick/10, 0.2, 0)
	}
	same(t, "spares, because of calls of a later time", table.Spares(10*time.Second), false)
	all := append(equal(99, 600), &tenant{key: "greedy", rate: 5400})
	play(table, 20*time.Second, 5.0/6, nil, all...)
	if modest := all[0].served(); modest < 0.9 {
		t.Errorf("a tenant below its share was served %.2f, want all", modest)
	}
}

// TestChosenKeys has a caller that chooses its keys so that all share a set with a victim, if it knows the
// seed, or if not. That must not harm the victims more than no fairness at all.
func TestChosenKeys(t *testing.T) {
	const p = 5.0 / 6
	for _, known := range []bool{false, true} {
		table, guess := New(Config{Rows: 8}), New(Config{Rows: 8})
		if known {
			guess = table
		}
		victims := map[*[ways]atomic.Uint64]bool{}
		for i := range 20 {
			set, _ := guess.demand.cell(guess.hash(fmt.Sprint("tenant ", i)), 0)
			victims[set] = true
		}
		var chosen []string
		for i := 0; len(chosen) < sized(100_000, 5000); i++ {
			key := fmt.Sprint("chosen ", i)
			if set, _ := guess.demand.cell(guess.hash(key), 0); victims[set] {
				chosen = append(chosen, key)
			}
		}
		all := append(equal(99, 600), &tenant{key: "greedy", rate: 5400})
		play(table, sized(time.Minute, 20*time.Second), p, func(call int) string { return chosen[call%len(chosen)] }, all...)
		offered, shed := sum(all[:20])
		if got := 1 - shed/offered; got < 1-p-0.02 {
			t.Errorf("the seed is known, %v: the victims are served %.3f, want %.3f", known, got, 1-p)
		}
	}
}

// sized returns quick with go test -short, and full without: the size of a test.
func sized[T any](full, quick T) T {
	if testing.Short() {
		return quick
	}
	return full
}
