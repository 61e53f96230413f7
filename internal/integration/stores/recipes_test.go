package stores_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// mailer notifies a customer about an endpoint, once per event.
type mailer func(ctx context.Context, customer, endpoint, event string) error

// fleetAgent runs an agent of a fleet until ctx ends, as in the README. It returns the manager, and the
// function that runs before each delivery.
func fleetAgent(ctx context.Context, db *sql.DB, logger *slog.Logger, mail mailer) (*breaker.Manager, func(customer, endpoint string) error) {
	tel := throttle.Must(otelthrottle.New())

	store := throttle.Must(sqlstore.NewBreaker(db, sqlstore.PostgreSQL, sqlstore.BreakerConfig{Name: "webhooks"}))
	if err := store.CreateSchema(ctx); err != nil { // or run what sqlstore.BreakerSchema returns with your migrations
		panic(err)
	}
	poller := throttle.Must(sqlstore.NewPoller(db, sqlstore.PostgreSQL, sqlstore.PollerConfig{
		Table: "deliveries", TenantColumn: "customer", KeyColumn: "endpoint",
		TimeColumn: "ended_at", TimeType: sqlstore.TimeInstant, StatusColumn: "status", Failed: []any{"failed"},
	}))
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "webhooks", Store: store, Poll: poller.Poll, ConsecutiveFailureThreshold: 10, // consecutive trips, then it is disabled
		Hooks: breaker.JoinHooks(tel.BreakerHooks(), breaker.LogHooks(logger)),
		Notify: func(ctx context.Context, e breaker.Event) error {
			if e.To != breaker.Disabled || e.Shadow {
				return nil
			}
			return mail(ctx, e.Key.Tenant, e.Key.ID, e.ID()) // called again until it returns nil
		},
	}))
	go func() { _ = m.Run(ctx) }()

	return m, func(customer, endpoint string) error {
		err := m.CanExecute(ctx, breaker.Key{Tenant: customer, ID: endpoint}) // from memory, without waiting
		return err
	}
}

// TestReadmeFleet runs the code of the README on a table with one failing endpoint, and disables that
// by hand.
func TestReadmeFleet(t *testing.T) {
	db := throttle.Must(sql.Open("pgx", program.Postgres(t).DSN("")))
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE deliveries (customer text, endpoint text, status text, ended_at timestamptz DEFAULT clock_timestamp())`,
		`INSERT INTO deliveries SELECT 'acme', 'dead', 'failed' FROM generate_series(1, 20)`,
		`INSERT INTO deliveries SELECT 'acme', 'well', 'delivered' FROM generate_series(1, 20)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	mails := make(chan string, 10)
	mail := func(_ context.Context, customer, endpoint, _ string) error {
		mails <- customer + " " + endpoint
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logger := slog.New(slog.DiscardHandler)
	m, one := fleetAgent(ctx, db, logger, mail)
	_, other := fleetAgent(ctx, db, logger, mail)
	refuse := func(want error) {
		t.Helper()
		for name, may := range map[string]func(string, string) error{"one": one, "the other": other} {
			program.Eventually(t, name+" refuses the dead endpoint", func() string {
				if err := may("acme", "dead"); !errors.Is(err, want) {
					return fmt.Sprintf("got %v, want %v", err, want)
				}
				return ""
			})
			if err := may("acme", "well"); err != nil {
				t.Errorf("%s refuses an endpoint that is well: %v", name, err)
			}
		}
	}
	refuse(breaker.ErrOpen)
	must(t, m.Disable(ctx, breaker.Key{Tenant: "acme", ID: "dead"}))
	refuse(breaker.ErrDisabled)
	select {
	case got := <-mails:
		if got != "acme dead" {
			t.Errorf("got mail about %q, want %q", got, "acme dead")
		}
	case <-time.After(program.Timeout):
		t.Error("got no notification")
	}
}
