package bucket_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// waitFor is the README's bucket for one process, before a call.
func waitFor(ctx context.Context, geocode func(context.Context, string) error) error {
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50)}))

	if err := l.Wait(ctx, "", 1); err != nil { // or Take, which does not wait
		return err // ctx has ended, or ends before there is a token
	}
	return geocode(ctx, "Berlin")
}

// shared is the README's bucket of a fleet.
func shared(ctx context.Context, db *sql.DB, logger *slog.Logger, customer string) (bucket.Decision, error) {
	db.SetMaxOpenConns(8) // without a bound, the default, the store uses two connections
	db.SetMaxIdleConns(8)
	store := throttle.Must(sqlstore.NewBucket(db, sqlstore.PostgreSQL, sqlstore.BucketConfig{Name: "geocoder"}))
	if err := store.CreateSchema(ctx); err != nil { // or run what sqlstore.BucketSchema returns with your migrations
		return bucket.Decision{}, err
	}
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50), Store: store}))
	if err := l.Warm(ctx); err != nil { // opens the connections
		return bucket.Decision{}, err
	}
	d, err := l.Decide(ctx, customer) // a bucket for each customer; if !d.Allowed, try again after d.RetryAfter

	logger.DebugContext(ctx, "asked", "allowed", d.Allowed, "source", d.Source)
	return d, err
}

// served is the page's handler behind a bucket for each customer.
func served(l *bucket.Limiter, handler http.Handler) http.Handler {
	handler = bucket.Middleware(l, bucket.MiddlewareConfig{
		Key: func(r *http.Request) string { return r.Header.Get("Customer") }, // a value that your authentication has verified
	})(handler)
	return handler
}

// document is the page's bucket of a stored procedure.
func document(ctx context.Context, db *sql.DB, call func(context.Context) (string, error)) (string, error) {
	requester := throttle.Must(sqlstore.NewProcedureBucket(db, "geocoder"))
	limited := bucket.Guard(requester, call)
	return limited(ctx)
}

func TestRecipe_Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		called := ""
		geocode := func(_ context.Context, place string) error { called = place; return nil }
		if err := waitFor(ctx, geocode); err != nil || called != "Berlin" {
			t.Errorf("got error %v, and a call about %q", err, called)
		}
		cancel()
		wants(t, waitFor(ctx, geocode), context.Canceled, "after the end")
	})
}

// TestRecipe_FleetWithoutAStore checks that nothing is granted if the schema cannot be created.
func TestRecipe_FleetWithoutAStore(t *testing.T) {
	db := sql.OpenDB(noDatabase{})
	defer db.Close()
	logger := slog.New(slog.DiscardHandler)
	if d, err := shared(t.Context(), db, logger, "ann"); !errors.Is(err, errDown) || d.Allowed {
		t.Errorf("shared: got %+v, error %v want the database's", d, err)
	}
	called := false
	_, err := document(t.Context(), db, func(context.Context) (string, error) { called = true; return "", nil })
	if !errors.Is(err, errDown) || called {
		t.Errorf("document: got error %v, called %v want the database's and no call", err, called)
	}
}

// noDatabase is a database that refuses all connections.
type noDatabase struct{}

func (noDatabase) Connect(context.Context) (driver.Conn, error) { return nil, errDown }

func (noDatabase) Driver() driver.Driver { return nil }

// Each customer has a bucket. Responses have the number of tokens left.
func ExampleMiddleware() {
	synctest.Test(new(testing.T), func(*testing.T) {
		l := bucket.Must(bucket.New(bucket.Config{Name: "api", Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour}}))
		handler := served(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for _, customer := range []string{"ann", "ann", "ann", "bob"} {
			r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
			r.Header.Set("Customer", customer)
			handler.ServeHTTP(w, r)
			fmt.Printf("%s %d %s %q\n", customer, w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
		}
	})
	// Output:
	// ann 200 "api";r=1;t=3600 ""
	// ann 200 "api";r=0;t=3600 ""
	// ann 429 "api";r=0;t=3600 "3600"
	// bob 200 "api";r=1;t=3600 ""
}

// The code of docs/coming-from.md, and the test that runs it.

// perCustomer replaces a map of x/time/rate limiters.
func perCustomer(served http.Handler) http.Handler {
	l := bucket.Must(bucket.New(bucket.Config{
		Name:  "api",
		Limit: bucket.PerSecond(10).WithBurst(20),
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := l.Decide(r.Context(), customerOf(r)) // a bucket for each customer; full buckets are removed
		if err != nil || !d.Allowed {
			w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfter/time.Second)+1))
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		served.ServeHTTP(w, r)
	})
}

// customerOf returns the customer of a request. It stands for your authentication.
func customerOf(r *http.Request) string { return r.URL.Query().Get("customer") }

func TestEachCustomerHasABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := perCustomer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for customer, want := range map[string]int{"ann": 5, "bob": 0} { // of whom ann asks for 25 and bob for one
			denied := 0
			for range 1 + 24*min(want, 1) {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?customer="+customer, nil))
				if w.Code == http.StatusTooManyRequests {
					denied++
				}
				if got := w.Header().Get("Retry-After"); (w.Code != http.StatusOK) != (got == "1") {
					t.Errorf("%s: got %d with Retry-After %q want 1 with a denial only", customer, w.Code, got)
				}
			}
			equals(t, denied, want, "%s: denials", customer)
		}
	})
}
