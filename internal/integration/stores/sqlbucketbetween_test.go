package stores_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// between is a database in which something happens before the first statement that writes, after all that have read.
type between struct {
	driver.Connector
	happens func()
}

func (b *between) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	return &betweenConn{conn, b}, err
}

type betweenConn struct {
	driver.Conn
	*between
}

func (c *betweenConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *betweenConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if happens := c.happens; happens != nil {
		c.happens = nil
		happens()
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// bucketBetween is a handle on a bucket store in whose database something happens between the two statements of a request.
func (e *engine) bucketBetween(t *testing.T, name string, happens func()) *sqlstore.Bucket {
	t.Helper()
	config, err := mysql.ParseDSN(e.dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(&between{connector, happens})
	t.Cleanup(func() { db.Close() })
	b, err := sqlstore.NewBucket(db, e.dialect, sqlstore.BucketConfig{Name: name, Prefix: "between_", SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replacesBetween has a row of a Fixed bucket that is gone and made anew between the two statements of a request, the new one earlier than
// the one that was found: what was taken meanwhile is not forgotten.
func (e *engine) replacesBetween(t *testing.T) {
	const capacity = 5
	other := e.buckets(t, e.dsn(t), "between", "between_")
	l, granted := lasting(capacity, bucket.Fixed), int64(0)
	takeOf := func(b *sqlstore.Bucket) {
		d, err := b.Take(t.Context(), bucket.Request{Key: "k", Limit: l, Min: 1, Max: 1})
		if err != nil {
			t.Error(err)
		}
		granted += d.Granted
	}
	other.put(t, "k", bucket.Level{At: other.now(t) - int64(2*time.Hour)})
	b := e.bucketBetween(t, "between", func() {
		if n, err := other.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("swept %d rows, %v want one", n, err)
		}
		takeOf(other.Bucket)
	})
	for range 2 * capacity {
		takeOf(b)
	}
	if granted != capacity {
		t.Errorf("got %d granted want %d", granted, capacity)
	}
}

// resetsBetween has a period that began after the clock was read, as at a border, and a bucket that is reset before the second statement. It is
// full then, and a full one is full again within a period.
func (e *engine) resetsBetween(t *testing.T) {
	other, l := e.buckets(t, e.dsn(t), "reset between", "between_"), lasting(5, bucket.Fixed)
	other.put(t, "k", bucket.Level{At: other.now(t) + int64(time.Hour), Used: 3})
	b := e.bucketBetween(t, "reset between", func() {
		if err := other.Reset(t.Context(), "k"); err != nil {
			t.Error(err)
		}
	})
	d, err := b.Take(t.Context(), bucket.Request{Key: "k", Limit: l, Min: 1, Max: 1})
	if err != nil || d.Granted != 1 || d.Remaining != 4 || d.ResetAfter > l.Period {
		t.Errorf("got %+v, %v want one granted, four left, full again within %v", d, err, l.Period)
	}
}
