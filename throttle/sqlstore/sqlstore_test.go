package sqlstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestConstructorErrors tries databases, dialects and configs with both stores. A channel is the
// breaker's only.
func TestConstructorErrors(t *testing.T) {
	db, long := brokenDB(t, errBroken), strings.Repeat("n", 256)
	for test, c := range map[string]struct {
		d                     Dialect
		name, prefix, channel string
		want                  string // in the error, with Breaker or Bucket for @; "" is none
	}{
		"any bytes":             {PostgreSQL, "\x00", "", "", ""},
		"longest":               {PostgreSQL, long[1:], long[:40], "", ""},
		"longest channel":       {PostgreSQL, "b", "", long[:63], ""},
		"prefix with a schema":  {PostgreSQL, "b", "s.p_", "", ""},
		"no dialect":            {0, "b", "", "", "the dialect is missing: want PostgreSQL, MySQL or SQLite"},
		"unknown dialect":       {4, "b", "", "", "dialect is dialect(4)"},
		"no name":               {SQLite, "", "", "", "@Config.Name"},
		"long name":             {SQLite, long, "", "", "(256 bytes): want 1 to 255"},
		"hostile prefix":        {SQLite, "b", `x"; DROP TABLE y; --`, "", "@Config.Prefix is"},
		"long prefix":           {SQLite, "b", long[:41], "", "1 to 40"},
		"channel of SQLite":     {SQLite, "b", "", "c", "BreakerConfig.NotifyChannel"},
		"channel of MySQL":      {MySQL, "b", "", "c", "MySQL has no channels"},
		"hostile channel":       {PostgreSQL, "b", "", "a'b", "BreakerConfig.NotifyChannel"},
		"channel with a schema": {PostgreSQL, "b", "", "a.b", "BreakerConfig.NotifyChannel"},
		"long channel":          {PostgreSQL, "b", "", long[:64], "1 to 63"},
	} {
		check := func(store string, made bool, err error) {
			want := strings.Replace(c.want, "@", store, 1)
			if made != (err == nil) || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: New%s: got a store: %v, error %v want error %q", test, store, made, err, want)
			}
		}
		b, err := NewBreaker(db, c.d, BreakerConfig{Name: c.name, Prefix: c.prefix, NotifyChannel: c.channel})
		check("Breaker", b != nil, err)
		if c.channel == "" {
			l, err := NewBucket(db, c.d, BucketConfig{Name: c.name, Prefix: c.prefix})
			check("Bucket", l != nil, err)
		}
	}
	_, forBreaker := NewBreaker(nil, SQLite, BreakerConfig{Name: "b"})
	_, forBucket := NewBucket(nil, SQLite, BucketConfig{Name: "b"})
	for _, err := range []error{forBreaker, forBucket} {
		if err == nil || !strings.Contains(err.Error(), "db is nil") {
			t.Errorf("no database: got error %v", err)
		}
	}
}

// TestErrorsNameTheStep asks a database that is not there, and one without the tables. The errors contain no data.
func TestErrorsNameTheStep(t *testing.T) {
	for _, failure := range []error{errBroken, errors.New("no such table: x")} {
		for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
			for _, s := range failedSteps(t, d, failure) {
				if !errors.Is(s.err, failure) || !strings.HasPrefix(s.err.Error(), "sqlstore: "+s.step+": ") {
					t.Errorf("%v: got %v want sqlstore: %s: …", d, s.err, s.step)
				}
				if strings.Contains(s.err.Error(), "secret") {
					t.Errorf("%v: got %v, with data in it", d, s.err)
				}
				equals(t, strings.Count(s.err.Error(), "sqlstore: "), 1, "%v: %v: how often it names the package", d, s.err)
				if got, want := errors.Is(s.err, ErrNoTables), !errors.Is(failure, errBroken); got != want {
					t.Errorf("%v: %s: is ErrNoTables: got %v want %v", d, s.step, got, want)
				}
			}
		}
	}
}

// stepError is the error of one step of a store.
type stepError struct {
	step string
	err  error
}

// failedSteps returns the errors of all steps of both stores on a database that fails.
func failedSteps(t *testing.T, d Dialect, failure error) []stepError {
	t.Helper()
	ctx := t.Context()
	id := breaker.Key{ID: "secret"}.RecordID()
	b := throttle.Must(NewBreaker(brokenDB(t, failure), d, BreakerConfig{Name: "secret"}))
	_, campaign := b.Campaign(ctx, breakerstore.Candidate{Owner: "secret", TTL: time.Second})
	_, versions := b.Versions(ctx)
	_, load := b.Load(ctx, []int{1})
	_, apply := b.Apply(ctx, breakerstore.Batch{Changes: []breakerstore.Change{{ID: id, Data: []byte("secret")}}})
	_, probe := b.Probe(ctx, []breakerstore.ProbeRequest{{ID: id, Every: time.Second, Budget: 1, Want: 1}})
	k := throttle.Must(NewBucket(brokenDB(t, failure), d, BucketConfig{Name: "secret"}))
	l := bucket.PerSecond(5)
	_, take := k.Take(ctx, bucketstore.Request{Key: "secret", Limit: l, Min: 1, Max: 1})
	_, peek := k.Take(ctx, bucketstore.Request{Limit: l})
	l.Algorithm = bucket.Fixed
	_, fixed := k.Take(ctx, bucketstore.Request{Limit: l, Min: 1, Max: 1})
	_, sweep := k.Sweep(ctx)
	steps := []stepError{
		{"read lease", campaign},
		{"versions", versions},
		{"load", load},
		{"apply", apply},
		{"probe", probe},
		{"resign", b.Resign(ctx, breakerstore.Lease{Owner: "secret"})},
		{"create schema", b.CreateSchema(ctx)},
		{"take", take},
		{"take", peek},
		{"take", fixed},
		{"sweep", sweep},
		{"return", k.Return(ctx, "secret", l, 1)},
		{"reset", k.Reset(ctx, "secret")},
		{"create schema", k.CreateSchema(ctx)},
	}
	if err := errors.Join(k.Return(ctx, "", l, 0), k.Return(ctx, "", l, -1), k.Close(), b.Close()); err != nil {
		t.Errorf("what needs no database: got %v", err)
	}
	return steps
}
