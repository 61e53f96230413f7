package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	defaultConnections = 2                // of a pool without a bound: database/sql keeps two open by default
	maxWarm            = 16               // connections that Warm opens
	openTimeout        = 10 * time.Second // to open a connection
	openSilence        = time.Second      // without any connection, after which the database has failed
	maxBadConnections  = 3                // that a request finds closed, one after the other
)

// errUnbounded is the error of Bucket.Check.
var errUnbounded = fmt.Errorf("sqlstore: the pool of the database has no bound, so the store uses %d connections: "+
	"set db.SetMaxOpenConns and db.SetMaxIdleConns to the same number, such as 8", defaultConnections)

// connections takes connections from a pool, at most as many at the same time as the pool may have.
// A connection is opened outside of the caller's time, which is often shorter. Otherwise each
// caller would begin to open one, and close it when its time is over.
type connections struct {
	db    *sql.DB
	once  sync.Once
	taken chan struct{} // has an element for each connection that is taken
	last  atomic.Int64  // when the last connection was taken, in nanoseconds since 1970
}

// init reads the bound of the pool, which a program sets after it has opened the database.
func (c *connections) init() {
	n := c.db.Stats().MaxOpenConnections
	if n <= 0 {
		n = defaultConnections
	}
	c.taken = make(chan struct{}, n)
	c.last.Store(time.Now().UnixNano())
}

// size returns the number of connections that may be taken at the same time.
func (c *connections) size() int {
	c.once.Do(c.init)
	return cap(c.taken)
}

// opened is the result of [sql.DB.Conn].
type opened struct {
	conn *sql.Conn
	err  error
}

// take takes a connection. The caller must release it. It waits for less than half of the time that
// the limiter's caller has, which is a part of the context's: the rest is for the statement.
func (c *connections) take(ctx context.Context) (*sql.Conn, error) {
	c.once.Do(c.init)
	ctx, cancel := context.WithTimeout(ctx, remote.Patience(ctx)/(2*remote.Longest))
	defer cancel()
	select {
	case c.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, c.notTaken(ctx)
	}
	result := make(chan opened, 1)
	go func() {
		opening, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
		defer cancel()
		conn, err := c.db.Conn(opening)
		result <- opened{conn, err}
	}()
	select {
	case o := <-result:
		return c.took(o)
	case <-ctx.Done():
		go func() {
			if conn, err := c.took(<-result); err == nil {
				c.release(conn)
			}
		}()
		return nil, c.notTaken(ctx)
	}
}

// took records that a connection was taken, or that it could not be opened.
func (c *connections) took(o opened) (*sql.Conn, error) {
	if o.err != nil {
		<-c.taken
		return nil, o.err
	}
	c.last.Store(time.Now().UnixNano())
	return o.conn, nil
}

// notTaken is the error if no connection was free in time. If none was for a second, the database
// does not answer. Otherwise the pool is too small or still empty.
func (c *connections) notTaken(ctx context.Context) error {
	if time.Since(time.Unix(0, c.last.Load())) > openSilence {
		return fmt.Errorf("no connection: %w", ctx.Err())
	}
	return fmt.Errorf("%w: no connection is free: %w", bucketstore.ErrNotSent, ctx.Err())
}

func (c *connections) release(conn *sql.Conn) {
	_ = conn.Close()
	<-c.taken
}

// use calls f with a connection. If the connection turns out to be closed, it takes another one.
func (c *connections) use(ctx context.Context, f func(querier) error) (err error) {
	for range maxBadConnections {
		conn, takeErr := c.take(ctx)
		if takeErr != nil {
			return takeErr
		}
		err = f(conn)
		c.release(conn)
		if !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
	return f(c.db) // it opens a new one
}

// warm opens connections until the pool is full, up to maxWarm.
func (c *connections) warm(ctx context.Context) error {
	results := make(chan opened, min(c.size(), maxWarm))
	for range cap(results) {
		go func() {
			conn, err := c.db.Conn(ctx)
			if err == nil {
				err = conn.PingContext(ctx)
			}
			results <- opened{conn, err}
		}()
	}
	var errs []error
	for range cap(results) {
		o := <-results
		if o.conn != nil {
			defer o.conn.Close() // all are open at the same time
		}
		errs = append(errs, o.err)
	}
	return errors.Join(errs...)
}

// Warm implements [bucketstore.Warmer]. It opens as many connections as the pool may have, up to
// 16.
func (b *Bucket) Warm(ctx context.Context) error {
	return stepFailed("warm", b.connections.warm(ctx))
}

// Check implements [bucketstore.Checker]. It returns an error if the pool has no bound.
func (b *Bucket) Check() error {
	if b.db.Stats().MaxOpenConnections == 0 {
		return errUnbounded
	}
	return nil
}
