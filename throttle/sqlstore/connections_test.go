package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// distant is a driver whose connections take long to open.
type distant struct {
	delay time.Duration
	opens *atomic.Int64
}

func (d distant) Connect(ctx context.Context) (driver.Conn, error) {
	d.opens.Add(1)
	select {
	case <-time.After(d.delay):
		return idle{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d distant) Driver() driver.Driver { return nil }

// idle is a connection that does nothing.
type idle struct{ driver.Conn }

func (idle) Close() error { return nil }

// distantDB returns a database whose connections take a time to open, and a counter of them.
func distantDB(t *testing.T, delay time.Duration) (*sql.DB, *atomic.Int64) {
	t.Helper()
	var opens atomic.Int64
	db := sql.OpenDB(distant{delay, &opens})
	return db, &opens
}

// taking takes a connection within 50 ms, and releases it.
func taking(c *connections) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	conn, err := c.take(ctx)
	if err == nil {
		c.release(conn)
	}
	return err
}

// TestConnections_OpenOutsideOfTheCallersTime checks that a connection that opens slowly is kept for
// later requests, and that requests that wait for it do not count as failures of the database.
func TestConnections_OpenOutsideOfTheCallersTime(t *testing.T) {
	for _, size := range []int{0, 8} {
		synctest.Test(t, func(t *testing.T) {
			db, opens := distantDB(t, 200*time.Millisecond)
			defer db.Close()
			db.SetMaxOpenConns(size)
			db.SetMaxIdleConns(max(2, size))
			c := &connections{db: db}
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					if err := taking(c); !errors.Is(err, bucketstore.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("while they open: %v, want ErrNotSent", err)
					}
				})
			}
			all.Wait()
			time.Sleep(200 * time.Millisecond)
			for range 64 {
				all.Go(func() {
					if err := taking(c); err != nil {
						t.Errorf("once they are open: %v", err)
					}
				})
			}
			all.Wait()
			equals(t, opens.Load(), int64(max(2, size)), "a bound of %d: connections that were opened", size)
		})
	}
}

// TestConnections_NoneForASecond checks that a database that cannot be reached has failed.
func TestConnections_NoneForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := distantDB(t, time.Hour)
		c := &connections{db: db}
		for begun := time.Now(); time.Since(begun) < 2*time.Second; {
			err := taking(c)
			if errors.Is(err, bucketstore.ErrNotSent) != (time.Since(begun) <= time.Second) {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
		}
		time.Sleep(openTimeout)
		synctest.Wait()
		equals(t, len(c.taken), 0, "connections that are still taken")
		db.Close()
	})
}

// TestConnections_AreClosed checks that a request takes another connection if the database has
// closed the first.
func TestConnections_AreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, opens := distantDB(t, 0)
		defer db.Close()
		db.SetMaxOpenConns(1)
		c, calls := &connections{db: db}, 0
		err := c.use(t.Context(), func(q querier) error {
			calls++
			if conn, ok := q.(*sql.Conn); ok && calls <= 2 {
				return conn.Raw(func(any) error { return driver.ErrBadConn })
			}
			return nil
		})
		if err != nil || calls != 3 || opens.Load() != 3 {
			t.Errorf("got %v after %d calls and %d connections, want the third to work", err, calls, opens.Load())
		}
	})
}

// TestConnections_LeaveTimeForTheStatement checks that no caller takes a connection when most of its
// time is over. A driver closes a connection if the context ends during a statement, so that more
// callers than the pool can serve would close all of them.
func TestConnections_LeaveTimeForTheStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, opens := distantDB(t, 0)
		defer db.Close()
		db.SetMaxOpenConns(2)
		db.SetMaxIdleConns(2)
		c := &connections{db: db}
		var all sync.WaitGroup
		var served, notSent atomic.Int64
		for range 100 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), remote.Longest*50*time.Millisecond)
				defer cancel()
				time.AfterFunc(50*time.Millisecond, cancel) // as the limiter does
				err := c.use(ctx, func(querier) error {
					select {
					case <-time.After(7 * time.Millisecond):
						served.Add(1)
						return nil
					case <-ctx.Done():
						t.Error("the context ended during a statement")
						return ctx.Err()
					}
				})
				if errors.Is(err, bucketstore.ErrNotSent) {
					notSent.Add(1)
				}
			})
		}
		all.Wait()
		if served.Load() != 6 || notSent.Load() != 94 || opens.Load() != 2 {
			t.Errorf("%d served, %d not sent, %d connections opened, want 6, 94 and 2", served.Load(), notSent.Load(), opens.Load())
		}
	})
}

func TestBucket_WarmAndCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, opens := distantDB(t, 200*time.Millisecond)
		defer db.Close()
		b := throttle.Must(NewBucket(db, PostgreSQL, BucketConfig{Name: "x"}))
		if err := b.Check(); err == nil {
			t.Error("a pool without a bound: no error")
		}
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8)
		if err := b.Check(); err != nil {
			t.Errorf("a pool with a bound: %v", err)
		}
		l := bucket.Must(bucket.New(bucket.Config{Name: "x", Store: b, Limit: bucket.PerSecond(1)}))
		if err := l.Warm(t.Context()); err != nil || opens.Load() != 8 || db.Stats().Idle != 8 {
			t.Errorf("got %v, %d connections and %d idle, want 8", err, opens.Load(), db.Stats().Idle)
		}
		gone := throttle.Must(NewBucket(brokenDB(t, errBroken), PostgreSQL, BucketConfig{Name: "x"}))
		if err := gone.Warm(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("a database that is gone: %v", err)
		}
	})
}
