package stores_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// oddSettings are settings of sessions that no store depends on.
const oddSettings = "clientFoundRows=true&interpolateParams=true&parseTime=true&loc=Europe%2FParis&sql_mode=%27ANSI,SIMULTANEOUS_ASSIGNMENT%27"

func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := program.MariaDB(t, "Europe/Paris") // where an hour comes twice in October, for sessions without a time zone of their own
	utc := "time_zone=%27%2B00:00%27"
	e := newEngine(sqlstore.MySQL, "mysql", func(testing.TB) string { return server.DSN(utc) })
	t.Run("conformance, in two time zones", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store {
			return e.handles(t, server.DSN(""), server.DSN("time_zone=%27%2B12:45%27"))
		})
	})
	t.Run("conformance, with unusual session settings", func(t *testing.T) {
		odd := e.with(server.DSN(oddSettings))
		if testing.Short() {
			breakerSteps(odd.fresh(t)()).wantWorks(t)
		} else {
			storetest.Run(t, odd.fresh)
		}
	})
	e.cases(t)
	t.Run("a read-only session", func(t *testing.T) {
		readOnly := e.open(t, server.DSN("tx_read_only=1"))
		e.readsOnly(t, e.open(t, server.DSN("")), readOnly, sqlstore.BreakerConfig{Name: "ro", Prefix: "ro_"})
	})
	t.Run("the hour that comes twice", func(t *testing.T) { e.pollsInOctober(t, server, utc) })
	t.Run("frozen, killed, started again", func(t *testing.T) { e.survivesFaults(t, server) })
}

// pollsInOctober polls while daylight saving time ends. There is a delivery every ten minutes, so each
// hour has six.
func (e *engine) pollsInOctober(t *testing.T, server *program.MariaDBServer, utc string) {
	back := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC) // 3:00 in Paris, and then 2:00 again
	var all []delivery
	for k := -24; k <= 24; k++ {
		all = append(all, delivery{endpoint: "e", status: "failed", age: time.Duration(k) * 10 * time.Minute})
	}
	e.deliveries(t, e.open(t, server.DSN(utc)), "october", back, all)
	paris, db := throttle.Must(time.LoadLocation("Europe/Paris")), e.open(t, server.DSN("")) // in Paris
	db.SetMaxOpenConns(1)
	var hour string
	for minute := -115; minute <= 175; minute += 10 {
		now := back.Add(time.Duration(minute) * time.Minute)
		e.exec(t, db, fmt.Sprintf("SET timestamp = %d", now.Unix()))
		if err := db.QueryRow("SELECT DATE_FORMAT(NOW(), '%H:%i')").Scan(&hour); err != nil || hour != now.In(paris).Format("15:04") {
			t.Fatalf("at %v the session says %s, %v", now, hour, err)
		}
		shifted := make([]delivery, len(all))
		for i, d := range all {
			d.age += now.Sub(back)
			shifted[i] = d
		}
		for at := range timeColumns {
			p := e.poller(db, pollerConfig("october", at))
			for _, q := range []breaker.PollQuery{
				{Window: time.Hour},
				{Window: time.Hour, Since: map[breaker.Key]time.Duration{{ID: "e"}: 30 * time.Minute}},
			} {
				got, err := p.Poll(t.Context(), q)
				if d := differences(got, counts(shifted, q)); err != nil || d != "" {
					t.Errorf("%v at %s of %v: %v %s", at, hour, now, err, d)
				}
			}
		}
	}
}

func TestMariaDBBuckets(t *testing.T) {
	t.Parallel()
	server := program.MariaDB(t, "Europe/Paris")
	e := newEngine(sqlstore.MySQL, "mysql", func(testing.TB) string { return server.DSN("") })
	e.bucketCases(t)
	t.Run("an odd session", func(t *testing.T) {
		odd := e.with(server.DSN(oddSettings))
		if testing.Short() {
			odd.matchesLevel(t)
		} else {
			odd.bucketCases(t)
		}
	})
	t.Run("a row that is made anew between two statements", e.replacesBetween)
	t.Run("a reset between two statements", e.resetsBetween)
	t.Run("the document's own", func(t *testing.T) { e.asksTheDocuments(t) })
}
