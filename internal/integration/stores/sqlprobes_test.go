package stores_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func (e *engine) deletesOldProbes(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "sweep", Prefix: "sweep_"})
	requests := []breaker.ProbeRequest{
		{Generation: 1, Since: time.Now().Add(-time.Hour), Every: time.Hour * 24, Budget: 5, Want: 3},
		{Generation: 2, Since: time.Now().Add(-time.Hour), Every: time.Hour * 24, Budget: 5, Want: 3},
	}
	if _, err := b.Probe(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE sweep_breaker_probe SET ends_us = 1 WHERE generation = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Campaign(t.Context(), breaker.Candidate{Owner: "leader", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	var left, generation int
	if err := db.QueryRow("SELECT COUNT(*), MAX(generation) FROM sweep_breaker_probe").Scan(&left, &generation); err != nil {
		t.Fatal(err)
	}
	if left != 1 || generation != 2 {
		t.Errorf("got %d rows, the last of generation %d; want that of generation 2 only", left, generation)
	}
}

// countsLateProbes makes the row of a budget that has not begun yet, as somebody does whose statement is quicker than that of another who
// has read the clock before.
func (e *engine) countsLateProbes(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "late", Prefix: "late_"})
	request := breaker.ProbeRequest{Generation: 1, Since: time.Now().Add(-time.Hour), Every: 24 * time.Hour, Budget: 5, Want: 2}
	grant := func(want int) {
		t.Helper()
		got, err := b.Probe(t.Context(), []breaker.ProbeRequest{request})
		if err != nil || got[0].Granted != want {
			t.Errorf("got %v %v want %d", got, err, want)
		}
	}
	grant(2)
	if _, err := db.Exec("UPDATE late_breaker_probe SET begins_us = begins_us + 86400000000, used = 4"); err != nil {
		t.Fatal(err)
	}
	grant(1)
	grant(0)
}
