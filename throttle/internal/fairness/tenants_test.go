package fairness

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestTenants has the calls of a tenant in several rows.
func TestTenants(t *testing.T) {
	table := New(Config{Rows: 32})
	for i := range 32 * 100 {
		table.Decide("large", i%32, 0, 0, 0.5, 0)
	}
	for i := range 50 {
		table.Decide("small", 31, 0, 0, 0.5, 0)
		table.Decide(fmt.Sprint("tenant ", i), 7, 0, 0, 0.5, 0)
	}
	rows := make([]int, 32)
	for i := range rows {
		rows[i] = i
	}
	all := table.Tenants(0, rows)
	if len(all) != 52 || all[0].ID != table.ID("large") || math.Abs(all[0].Calls-3200) > 1 || all[1].ID != table.ID("small") || all[1].Calls != 50 {
		t.Errorf("got %d tenants, %+v first, want 52, large with 3200 calls and small with 50", len(all), all[:2])
	}
	if got := table.Tenants(0, rows[:1]); len(got) != 1 || got[0].Calls != 100 {
		t.Errorf("row 0: got %+v want one tenant with 100 calls", got)
	}
	same(t, "tenants after a minute", len(table.Tenants(time.Minute, rows)), 0)
}

// TestTenants_old has no tenants of long ago, whether calls go on or not.
func TestTenants_old(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, 30 * time.Second, time.Hour} {
		table := New(Config{Rows: 1})
		for i := range 100 {
			table.Decide(fmt.Sprint("tenant ", i), 0, 0, 0, 0.5, 0)
		}
		next := pause
		for now := time.Minute; now < time.Hour; now += time.Minute {
			for ; next <= now; next += pause {
				table.Decide("new", 0, 0, next, 0.5, 0)
			}
			if got := len(table.Tenants(now, []int{0})); got > 1 || table.Rows(now)[0].Calls > 100 {
				t.Fatalf("a call each %v, after %v: got %d tenants want one at most", pause, now, got)
			}
		}
	}
}

// TestKeep has keys of the tenants that Keep names, and of no other.
func TestKeep(t *testing.T) {
	table := New(Config{Rows: 2})
	long := strings.Repeat("é", 100)
	want := func(moment, key, kept string) {
		t.Helper()
		table.Decide(key, 0, 0, 0, 0.5, 0)
		same(t, moment, table.Key(table.ID(key)), kept)
	}
	want("before", "ann", "")
	table.Keep([]Tenant{{ID: table.ID("ann")}, {ID: table.ID(long)}})
	want("kept", "ann", "ann")
	want("long", long, strings.Repeat("é", nameLength/2)+"…")
	want("another", "bob", "")
	table.Keep([]Tenant{{ID: table.ID("bob")}, {ID: table.ID("ann")}})
	same(t, "without a new call", table.Key(table.ID("ann")), "ann")
	table.Keep(make([]Tenant, 1000))
	want("no more", "ann", "")
	same(t, "names", len(*table.names.list.Load()), MostNames)
}
