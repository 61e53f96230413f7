package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestNewBreakerRefuses(t *testing.T) {
	db := brokenDB(t, errBroken)
	for name, c := range map[string]struct {
		d    Dialect
		c    BreakerConfig
		want string
	}{
		"no dialect":           {0, BreakerConfig{Name: "b"}, "dialect is dialect(0): want PostgreSQL, MySQL or SQLite"},
		"unknown dialect":      {4, BreakerConfig{Name: "b"}, "dialect is dialect(4)"},
		"no name":              {SQLite, BreakerConfig{}, "BreakerConfig.Name"},
		"long name":            {SQLite, BreakerConfig{Name: strings.Repeat("n", 256)}, "256 bytes: want 1 to 255"},
		"hostile prefix":       {SQLite, BreakerConfig{Name: "b", Prefix: `x"; DROP TABLE y; --`}, "prefix is"},
		"long prefix":          {SQLite, BreakerConfig{Name: "b", Prefix: strings.Repeat("p", 41)}, "1 to 40"},
		"channel of SQLite":    {SQLite, BreakerConfig{Name: "b", NotifyChannel: "c"}, "BreakerConfig.NotifyChannel"},
		"channel of MySQL":     {MySQL, BreakerConfig{Name: "b", NotifyChannel: "c"}, "MySQL has no channels"},
		"hostile channel":      {PostgreSQL, BreakerConfig{Name: "b", NotifyChannel: "a'b"}, "BreakerConfig.NotifyChannel"},
		"channel in a schema":  {PostgreSQL, BreakerConfig{Name: "b", NotifyChannel: "a.b"}, "BreakerConfig.NotifyChannel"},
		"channel that is long": {PostgreSQL, BreakerConfig{Name: "b", NotifyChannel: strings.Repeat("c", 64)}, "1 to 63"},
	} {
		if b, err := NewBreaker(db, c.d, c.c); b != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, error %v want %q", name, b, err, c.want)
		}
	}
	if _, err := NewBreaker(nil, SQLite, BreakerConfig{Name: "b"}); err == nil || !strings.Contains(err.Error(), "db is nil") {
		t.Errorf("no database: got %v", err)
	}
	for _, good := range []BreakerConfig{
		{Name: "\x00"},
		{Name: strings.Repeat("n", 255)},
		{Name: "b", Prefix: strings.Repeat("p", 40)},
		{Name: "b", Prefix: "s.p_"},
		{Name: "b", NotifyChannel: strings.Repeat("c", 63)},
	} {
		if _, err := NewBreaker(db, PostgreSQL, good); err != nil {
			t.Errorf("%+v: got %v", good, err)
		}
	}
}

// TestEveryStepSaysWhatFailed asks a database that is not there, and one that says that it has no tables.
func TestEveryStepSaysWhatFailed(t *testing.T) {
	for _, failure := range []error{errBroken, errors.New("no such table: x")} {
		for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
			b, err := NewBreaker(brokenDB(t, failure), d, BreakerConfig{Name: "b"})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			_, campaign := b.Campaign(ctx, breaker.Candidate{Owner: "o", TTL: time.Second})
			_, versions := b.Versions(ctx)
			_, load := b.Load(ctx, []int{1})
			_, apply := b.Apply(ctx, breaker.Batch{})
			_, probe := b.Probe(ctx, []breaker.ProbeRequest{{Every: time.Second, Budget: 1, Want: 1}})
			for step, err := range map[string]error{
				"read lease": campaign, "versions": versions, "load": load, "apply": apply, "probe": probe,
				"resign": b.Resign(ctx, breaker.Lease{}), "create schema": b.CreateSchema(ctx),
			} {
				if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "sqlstore: "+step+": ") {
					t.Errorf("%v: got %v want sqlstore: %s: …", d, err, step)
				}
				if n := strings.Count(err.Error(), "sqlstore: "); n != 1 {
					t.Errorf("%v: got %v, which says %d times who speaks, want once", d, err, n)
				}
				if got, want := errors.Is(err, ErrNoTables), !errors.Is(failure, errBroken); got != want {
					t.Errorf("%v: %s: is ErrNoTables: got %v want %v", d, step, got, want)
				}
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBadRequestsDoNotReachTheDatabase(t *testing.T) {
	b, err := NewBreaker(brokenDB(t, errBroken), SQLite, BreakerConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, campaign := b.Campaign(ctx, breaker.Candidate{Owner: strings.Repeat("o", 1025)})
	_, load := b.Load(ctx, []int{0, 64})
	_, below := b.Apply(ctx, breaker.Batch{Shard: -1})
	_, above := b.Apply(ctx, breaker.Batch{Shard: 64})
	_, term := b.Apply(ctx, breaker.Batch{Term: 1 << 63})
	for want, err := range map[string]error{
		"1025 bytes": campaign, "shard is 64": load, "shard is -1": below, "apply: shard is 64": above, "term is 9223372036854775808": term,
	} {
		if err == nil || errors.Is(err, errBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want %q", err, want)
		}
	}
	if shards, err := b.Load(ctx, nil); len(shards) != 0 || err != nil {
		t.Errorf("load of nothing: got %v %v", shards, err)
	}
	if grants, err := b.Probe(ctx, nil); len(grants) != 0 || err != nil {
		t.Errorf("probe of nothing: got %v %v", grants, err)
	}
}
