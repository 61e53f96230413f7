package stores_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// fillUp inserts buckets that have been full for two hours, and three others. It returns the number of
// the others.
func (b buckets) fillUp(t testing.TB, old int) (left int) {
	t.Helper()
	long := b.now(t) - int64(2*time.Hour)
	for i := range old {
		key := strings.Repeat("\x00", i%3) + fmt.Sprint(i)
		if i == 0 {
			key = ""
		}
		b.put(t, key, store.Level{At: long})
	}
	b.put(t, "full, but not for long", store.Level{At: long + int64(119*time.Minute)})
	for key, a := range map[string]bucket.Algorithm{"c": bucket.Continuous, "f": bucket.Fixed} {
		if _, err := b.Take(t.Context(), store.Request{Key: key, Limit: lasting(5, a), Min: 1, Max: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return 3
}

func (e *engine) sweepsBuckets(t *testing.T) {
	const old = 600
	dsn, name := e.dsn(t), fmt.Sprint("sweep ", e.last.Add(1))
	b := e.buckets(t, dsn, name, "sweep_")
	left := b.fillUp(t, old)
	for _, want := range []int64{old, 0} {
		if n, err := b.Sweep(t.Context()); err != nil || n != want {
			t.Errorf("got %d %v want %d", n, err, want)
		}
	}
	if got := b.rows(t); got != left {
		t.Errorf("got %d rows want %d", got, left)
	}
	b.fillUp(t, old)
	if n := b.rows(t); n != old+left {
		t.Fatalf("got %d rows want %d", n, old+left)
	}
	self := e.bucketsWith(t, dsn, sqlstore.BucketConfig{Name: name, Prefix: "sweep_", SweepEvery: time.Nanosecond})
	program.Eventually(t, "a store has swept by itself", func() string {
		if _, err := self.Take(t.Context(), store.Request{Key: "c", Limit: lasting(5, bucket.Continuous)}); err != nil {
			return err.Error()
		}
		if n := b.rows(t); n != left {
			return fmt.Sprint(n, " rows")
		}
		return ""
	})
}

// sweepsWhileUsed sweeps in a loop while callers take from buckets that have long been full. A sweep must
// not delete a row that was just written, or the next caller would find a full bucket.
func (e *engine) sweepsWhileUsed(t *testing.T) {
	const handles, workers, capacity, together = 3, 16, 20, 8
	dsn, name := e.dsn(t), fmt.Sprint("swept ", e.last.Add(1))
	watch := e.buckets(t, dsn, name, "swept_")
	stores := make([]buckets, handles)
	sweeping, stop := context.WithCancel(t.Context())
	defer stop()
	var sweeps sync.WaitGroup
	var swept atomic.Int64
	for i := range stores {
		stores[i] = e.buckets(t, dsn, name, "swept_")
		sweeper := e.buckets(t, dsn, name, "swept_")
		sweeps.Go(func() {
			for sweeping.Err() == nil {
				n, err := sweeper.Sweep(sweeping)
				if err != nil && sweeping.Err() == nil {
					t.Error(err)
				}
				swept.Add(n)
			}
		})
	}
	for round := range 8 {
		l := lasting(capacity, []bucket.Algorithm{bucket.Continuous, bucket.Fixed}[round%2])
		long := watch.now(t) - int64(2*time.Hour)
		var granted [together]atomic.Int64
		for k := range together {
			watch.put(t, fmt.Sprint(round, k), store.Level{At: long})
		}
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for n := range 2 * together {
					k := (i + n) % together
					d, err := stores[i%handles].Take(t.Context(), store.Request{Key: fmt.Sprint(round, k), Limit: l, Min: 1, Max: 1})
					if err != nil {
						t.Error(err)
						return
					}
					granted[k].Add(d.Granted)
				}
			})
		}
		all.Wait()
		for k := range granted {
			if got := granted[k].Load(); got != capacity {
				t.Errorf("round %d, %v, bucket %d: got %d granted want %d", round, l.Algorithm, k, got, capacity)
			}
		}
	}
	stop()
	sweeps.Wait()
	t.Logf("%d rows were swept away before they were used", swept.Load())
}

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
	config := throttle.Must(mysql.ParseDSN(e.dsn(t)))
	config.InterpolateParams = true
	connector := throttle.Must(mysql.NewConnector(config))
	db := sql.OpenDB(&between{connector, happens})
	t.Cleanup(func() { db.Close() })
	return throttle.Must(sqlstore.NewBucket(db, e.dialect, sqlstore.BucketConfig{Name: name, Prefix: "between_", SweepEvery: -1}))
}

// replacesBetween has a row of a Fixed bucket that is gone and made anew between the two statements of a request, the new one earlier than
// the one that was found: what was taken meanwhile is not forgotten.
func (e *engine) replacesBetween(t *testing.T) {
	const capacity = 5
	other := e.buckets(t, e.dsn(t), "between", "between_")
	l, granted := lasting(capacity, bucket.Fixed), int64(0)
	takeOf := func(b *sqlstore.Bucket) {
		d, err := b.Take(t.Context(), store.Request{Key: "k", Limit: l, Min: 1, Max: 1})
		if err != nil {
			t.Error(err)
		}
		granted += d.Granted
	}
	other.put(t, "k", store.Level{At: other.now(t) - int64(2*time.Hour)})
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
	other.put(t, "k", store.Level{At: other.now(t) + int64(time.Hour), Used: 3})
	b := e.bucketBetween(t, "reset between", func() {
		if err := other.Reset(t.Context(), "k"); err != nil {
			t.Error(err)
		}
	})
	d, err := b.Take(t.Context(), store.Request{Key: "k", Limit: l, Min: 1, Max: 1})
	if err != nil || d.Granted != 1 || d.Remaining != 4 || d.ResetAfter > l.Period {
		t.Errorf("got %+v, %v want one granted, four left, full again within %v", d, err, l.Period)
	}
}
