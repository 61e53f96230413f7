package overload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// quarter is an entry in which the shares of a hundred calls were admitted and successful.
func quarter(admitted, succeeded float64) entry {
	return entry{Second: Second{
		Offered: Tiers{100}, Admitted: Tiers{100 * admitted}, Succeeded: Tiers{100 * succeeded}, Servable: 100, Capacity: 50,
	}}
}

func repeat(n int, e entry) []entry {
	all := make([]entry, n)
	for i := range all {
		all[i] = e
	}
	return all
}

func TestTimeToRecover(t *testing.T) {
	well, shedding, failing := quarter(1, 1), quarter(0.9, 0.9), quarter(1, 0.9)
	tests := []struct {
		name string
		when []entry
		want float64
	}{
		{"at once", repeat(20, well), 0},
		{"too short to tell", repeat(19, well), math.Inf(1)},
		{"after two seconds", append(repeat(8, quarter(0, 0)), repeat(30, well)...), 2},
		{"a little shedding does not count", append(repeat(2, shedding), repeat(30, well)...), 0},
		{"more does", append(repeat(3, shedding), repeat(30, well)...), 0.25},
		{"some failures do not", append(repeat(6, failing), repeat(30, well)...), 0},
		{"more do", append(repeat(8, failing), repeat(30, well)...), 0.5},
		{"a relapse does", append(append(repeat(19, well), quarter(0, 0)), repeat(20, well)...), 5},
		{"never", repeat(100, shedding), math.Inf(1)},
	}
	for _, tt := range tests {
		if got := timeToRecover(tt.when); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// handmade is a record of a second before, two of a disturbance, and six after.
func handmade() (*record, *Case) {
	c := &Case{Phases: []Phase{
		{Length: time.Second, Load: Tiers{0.4}, Capacity: 1},
		{Length: 2 * time.Second, Load: Tiers{0.4}, Capacity: 0.2, Disturbed: true},
		{Length: 6 * time.Second, Load: Tiers{0.4}, Capacity: 1},
	}}
	r := newRecord(c.Phases, 2, 1000)
	for i := range r.entries {
		e := quarter(1, 1)
		switch {
		case i == 0:
			e = quarter(0.9, 0.9)
		case i >= 4 && i < 8:
			e = quarter(0.5, 0.1)
		case i >= 8 && i < 12:
			e = quarter(0.2, 0.2)
		}
		e.Useful, e.wasted = e.Succeeded[0], 3
		e.Disturbed, e.Capacity = r.entries[i].Disturbed, r.entries[i].Capacity
		r.entries[i] = e
	}
	return r, c
}

func TestMeasure(t *testing.T) {
	r, c := handmade()
	f := measure(r, c)
	nan := math.NaN()
	want := Figures{
		Goodput: 120. / 400, Success: Tiers{0.2, nan, nan, nan}, Sent: 80. / 200, Waste: 24. / 144,
		TimeToShed: 0.25, TimeToRecover: 0, FalseShed: 10. / 400, Fairness: nan,
		Steady: nan, SteadyWorst: nan, Whole: nan, WholeWorst: nan,
		Attempts: 1, Succeeded: 120. / 800, ShedAll: 520. / 3200,
		TenantsBelow: nan, TenantsFair: nan, TenantsWorst: nan,
	}
	for i, name := range FigureNames() {
		if got, want := f.Values()[i], want.Values()[i]; !near(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestMeasure_counted takes the false sheds of the counted phases only.
func TestMeasure_counted(t *testing.T) {
	r, c := handmade()
	for i := 4; i < 8; i++ {
		r.entries[i].counted = true
	}
	r.entries[4].resent = 40
	if f := measure(r, c); !near(f.FalseShed, 0.5) || !near(f.Sent, 80./200) {
		t.Errorf("got false shed %v and sent %v want 0.5 and 0.4", f.FalseShed, f.Sent)
	}
	r.entries[11].resent = 40
	if f := measure(r, c); !near(f.Sent, 120./200) || !near(f.Attempts, 1+80./280) {
		t.Errorf("got sent %v, attempts %v want 0.6, 1.29", f.Sent, f.Attempts)
	}
}

// TestMeasure_aftermath has two disturbances of two entries, in each of which 90 calls fail and 20 are
// shed. What is shed 30 s after them does not count.
func TestMeasure_aftermath(t *testing.T) {
	disturbed := repeat(2, quarter(0.9, 0.45))
	for i := range disturbed {
		disturbed[i].Disturbed = true
	}
	calm, shedding := repeat(1, quarter(1, 1)), repeat(1, quarter(0.4, 0.4))
	r := &record{entries: slices.Concat(shedding, disturbed, repeat(118, calm[0]), repeat(4, shedding[0]),
		disturbed, shedding, repeat(10, calm[0]))}
	f := measure(r, &Case{Phases: make([]Phase, 1)})
	if want := 180. / 180; !near(f.ShedPerFailed, want) {
		t.Errorf("shed per failed: got %v, want %v", f.ShedPerFailed, want)
	}
	if want := 0.25; f.TimeToAdmit != want {
		t.Errorf("time to admit: got %v, want %v", f.TimeToAdmit, want)
	}
	if want := (40. + 5*60) / 13_700; !near(f.ShedAll, want) {
		t.Errorf("shed of all: got %v, want %v", f.ShedAll, want)
	}
	r.entries = r.entries[:len(r.entries)-4]
	if f := measure(r, &Case{Phases: make([]Phase, 1)}); !math.IsInf(f.TimeToAdmit, 1) {
		t.Errorf("time to admit in less than 2 s: got %v, want never", f.TimeToAdmit)
	}
}

func TestMeasureIsolation(t *testing.T) {
	failing := Phase{
		Length: 2 * time.Second, Capacity: 1, Disturbed: true,
		Load: Tiers{0.1, 0.1, 0.1}, Failing: Tiers{throttle.Important: 1},
	}
	calm := failing
	calm.Failing = Tiers{}
	c := &Case{Phases: []Phase{calm, failing}}
	r := newRecord(c.Phases, 1, 1000)
	for i := range r.entries {
		r.entries[i].Offered = Tiers{10, 10, 10}
		r.entries[i].Admitted = Tiers{10, 0, 10}
	}
	r.entries[15].Admitted = Tiers{9, 0, 8} // within the last quarter of the run
	r.entries[8].Admitted = Tiers{0, 0, 10} // in the first half of the last phase
	f := measure(r, c)
	if want := 38. / 40; !near(f.Steady, want) {
		t.Errorf("steady: got %v, want that of Medium, %v", f.Steady, want)
	}
	if want := 149. / 160; !near(f.Whole, want) {
		t.Errorf("whole: got %v, want that of High, %v", f.Whole, want)
	}
	if !math.IsNaN(f.TimeToShed) || !math.IsNaN(f.TimeToRecover) {
		t.Errorf("got %v s to shed and %v s to recover where nothing is overloaded", f.TimeToShed, f.TimeToRecover)
	}
	if got := combine([]Figures{f, {Steady: 0.5, SteadyWorst: 0.5, Whole: 1, WholeWorst: 1}}); !near(got.Steady, (0.5+38./40)/2) ||
		got.SteadyWorst != 0.5 || !near(got.WholeWorst, 149./160) {
		t.Errorf("two cases together: got %+v", got)
	}
}
