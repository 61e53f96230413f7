package stores_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := program.Postgres(t)
	e := newEngine(sqlstore.PostgreSQL, "pgx", func(testing.TB) string { return server.DSN("") })
	paris, chatham := server.DSN("timezone=Europe/Paris"), server.DSN("timezone=Pacific/Chatham")
	t.Run("conformance, with notifications, in two time zones", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store { return e.watched(t, paris, chatham) })
	})
	e.cases(t)
	t.Run("says what it is asked to", func(t *testing.T) { e.countsStatements(t, server.DSN("")) })
	t.Run("a pooler, for which nothing is prepared", func(t *testing.T) {
		pooled := e.with(server.DSN("default_query_exec_mode=simple_protocol"))
		if testing.Short() {
			breakerSteps(pooled.fresh(t)()).wantWorks(t)
		} else {
			storetest.Run(t, pooled.fresh)
		}
		db := pooled.open(t, pooled.dsn(t))
		all := someDeliveries(2000)
		pooled.deliveries(t, db, "pooled_deliveries", time.Now(), all)
		q := breaker.PollQuery{Window: 90 * time.Minute, Since: map[breaker.Key]time.Duration{{Tenant: "one", ID: "a"}: 30 * time.Minute}}
		got, err := pooled.poller(db, pollerConfig("pooled_deliveries", sqlstore.TimeInstant)).Poll(t.Context(), q)
		if d := differences(got, counts(all, q)); d != "" || err != nil {
			t.Errorf("poll: %v %.500s", err, d)
		}
	})
	t.Run("a read-only session", func(t *testing.T) {
		readOnly := e.open(t, server.DSN("default_transaction_read_only=on"))
		e.readsOnly(t, e.open(t, server.DSN("")), readOnly, sqlstore.BreakerConfig{Name: "ro", Prefix: "ro_"})
	})
	t.Run("time zones", func(t *testing.T) {
		all := someDeliveries(1000)
		e.deliveries(t, e.open(t, chatham), "zone_deliveries", time.Now(), all)
		q := breaker.PollQuery{Window: 330 * time.Minute}
		for at := range timeColumns {
			got, err := e.poller(e.open(t, paris), pollerConfig("zone_deliveries", at)).Poll(t.Context(), q)
			if d := differences(got, counts(all, q)); d != "" || err != nil {
				t.Errorf("%v: %v %.500s", at, err, d)
			}
		}
	})
	t.Run("a schema of its own", func(t *testing.T) {
		db := e.open(t, server.DSN(""))
		e.exec(t, db, "CREATE SCHEMA ops")
		b := e.store(t, db, sqlstore.BreakerConfig{Name: "b", Prefix: "ops.Select_"})
		breakerSteps(b).wantWorks(t)
		e.exec(t, db, `SELECT 1 FROM ops."Select_breaker_lease"`)
	})
	t.Run("frozen, killed, started again", func(t *testing.T) { e.survivesFaults(t, server) })
}

// listen is the function that users of pgx pass to sqlstore.Watch. It LISTENs on its own connection.
func listen(dsn, channel string) func(ctx context.Context, changed func()) error {
	return func(ctx context.Context, changed func()) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
		changed() // what happened before it listened
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
			changed()
		}
	}
}

func (e *engine) watched(t *testing.T, dsns ...string) func() store.Store {
	name := fmt.Sprint("watched ", e.last.Add(1))
	return func() store.Store {
		dsn := dsns[e.last.Add(1)%int64(len(dsns))]
		b := e.store(t, e.open(t, dsn), sqlstore.BreakerConfig{Name: name, NotifyChannel: "spillway"})
		return throttle.Must(sqlstore.Watch(b, listen(dsn, "spillway")))
	}
}

// sqlJournal records the first words of the statements that one goroutine sends to PostgreSQL.
type sqlJournal struct{ said []string }

func (j *sqlJournal) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if word := strings.ToUpper(strings.Fields(data.SQL)[0]); word != "--" {
		j.said = append(j.said, word)
	}
	return ctx
}

func (j *sqlJournal) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (e *engine) countsStatements(t *testing.T, dsn string) {
	config := throttle.Must(pgx.ParseConfig(dsn))
	journal := &sqlJournal{}
	config.Tracer = journal
	db := stdlib.OpenDB(*config)
	defer db.Close()
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "statements", Prefix: "statements_", NotifyChannel: "x"})
	ctx := t.Context()
	var version store.Version
	changes := make([]store.Change, 251)
	for i := range changes {
		changes[i] = store.Change{ID: store.RecordID{1, byte(i), byte(i >> 8)}, Data: []byte("{}")}
	}
	apply := func(batch store.Batch) (err error) {
		batch.Expect = version
		version, err = b.Apply(ctx, batch)
		return err
	}
	if err := apply(store.Batch{Term: 1, Changes: changes[:1]}); err != nil { // the first one makes the shard
		t.Fatal(err)
	}
	for _, c := range []struct {
		step string
		do   func() error
		want string
	}{
		{"versions", func() error { _, err := b.Versions(ctx); return err }, "SELECT"},
		{"a write of many", func() error { return apply(store.Batch{Term: 1, Changes: changes}) }, "BEGIN UPDATE INSERT INSERT COMMIT"},
		{"load", func() error { _, err := b.Load(ctx, []int{0, 1, 2, 0}); return err }, "SELECT"},
		{"load of nothing", func() error { _, err := b.Load(ctx, nil); return err }, ""},
		{"probe", func() error {
			requests := make([]store.ProbeRequest, 250)
			for i := range requests {
				requests[i] = store.ProbeRequest{ID: changes[i].ID, Since: time.Unix(0, 0), Every: time.Hour, Budget: 1, Want: 1}
			}
			_, err := b.Probe(ctx, requests)
			return err
		}, "SELECT INSERT"},
		{"probe of nothing", func() error { _, err := b.Probe(ctx, nil); return err }, ""},
	} {
		journal.said = nil
		err := c.do()
		if said := strings.Join(journal.said, " "); err != nil || said != c.want {
			t.Errorf("%s: %v, said %s\nwant %s", c.step, err, said, c.want)
		}
	}
}

func TestPostgresBuckets(t *testing.T) {
	t.Parallel()
	server := program.Postgres(t, "TimeZone=Europe/Paris")
	e := newEngine(sqlstore.PostgreSQL, "pgx", func(testing.TB) string { return server.DSN("") })
	e.bucketCases(t)
	t.Run("a pooler, for which nothing is prepared", func(t *testing.T) {
		pooled := e.with(server.DSN("default_query_exec_mode=simple_protocol"))
		pooled.matchesLevel(t)
		if !testing.Short() {
			pooled.bucketConformance(t)
		}
	})
}
