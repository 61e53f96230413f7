package stores_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// must is for configurations that are known to be right.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// fleetAgent is the agent of a fleet, as the README has it, until ctx ends: it reports whether it may call.
func fleetAgent(ctx context.Context, db *sql.DB, mail func(context.Context, string, breaker.State, string) error) func(customer, endpoint string) error {
	tel := must(otelthrottle.New())

	store := must(sqlstore.NewBreaker(db, sqlstore.PostgreSQL, sqlstore.BreakerConfig{Name: "webhooks"}))
	poller := must(sqlstore.NewPoller(db, sqlstore.PostgreSQL, sqlstore.PollerConfig{
		Table: "deliveries", TenantColumn: "customer", KeyColumn: "endpoint",
		TimeColumn: "ended_at", TimeType: sqlstore.Instant, StatusColumn: "status", Failed: []any{"failed"},
	}))
	m := must(breaker.New(breaker.Config{
		Name: "webhooks", Store: store, Poll: poller.Poll, Hooks: tel.BreakerHooks(),
		ConsecutiveFailureThreshold: 10, // trips in a row, then it is disabled until somebody enables it
		Notify: func(ctx context.Context, e breaker.Event) error {
			return mail(ctx, e.Key.Tenant, e.To, e.ID()) // again until it returns nil
		},
	}))
	go func() { _ = m.Run(ctx) }()

	return func(customer, endpoint string) error {
		err := m.CanExecute(ctx, breaker.Key{Tenant: customer, ID: endpoint}) // in memory: it waits for nothing
		return err
	}
}

// TestTheReadmesFleet runs what the README shows, on a table in which one endpoint fails.
func TestTheReadmesFleet(t *testing.T) {
	db, err := sql.Open("pgx", program.Postgres(t).DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	create := must(sqlstore.BreakerSchema(sqlstore.PostgreSQL, ""))
	create = append(create,
		`CREATE TABLE deliveries (customer text, endpoint text, status text, ended_at timestamptz DEFAULT clock_timestamp())`,
		`INSERT INTO deliveries SELECT 'acme', 'dead', 'failed' FROM generate_series(1, 20)`,
		`INSERT INTO deliveries SELECT 'acme', 'well', 'delivered' FROM generate_series(1, 20)`)
	for _, statement := range create {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	mails := make(chan string, 10)
	mail := func(_ context.Context, customer string, to breaker.State, _ string) error {
		mails <- customer + " " + to.String()
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, other := fleetAgent(ctx, db, mail), fleetAgent(ctx, db, mail)
	for name, may := range map[string]func(string, string) error{"one": one, "the other": other} {
		program.Eventually(t, name+" refuses the dead endpoint", func() string {
			if err := may("acme", "dead"); !errors.Is(err, breaker.ErrOpen) {
				return "it does not"
			}
			return ""
		})
		if err := may("acme", "well"); err != nil {
			t.Errorf("%s refuses an endpoint that is well: %v", name, err)
		}
	}
	select {
	case got := <-mails:
		if got != "acme open" {
			t.Errorf("got mail %q, want %q", got, "acme open")
		}
	case <-time.After(program.Patience):
		t.Error("nobody was notified")
	}
}
