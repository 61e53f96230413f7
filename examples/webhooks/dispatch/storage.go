package dispatch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// StorageConfig says where the fleet keeps what it shares.
type StorageConfig struct {
	// Folder is where SQLite's file is made, unless Postgres is given.
	Folder string
	// Postgres is the data source name of a database for the deliveries and, without Redis, for the breaker's store.
	Postgres string
	// Redis is the address of a server for the breaker's store.
	Redis string
	// Store is the breakers' store instead of any other, if it is not nil.
	Store breaker.Store
	// Run is a word of letters and digits that no other run has: what several runs leave in one database must not get mixed up.
	Run string
}

// Storage is where the fleet keeps what it shares. Everything that this run made there is removed by [Storage.Remove].
type Storage struct {
	config  StorageConfig
	dialect sqlstore.Dialect
	prefix  string
}

// Handle is what one agent has of the storage: connections of its own.
type Handle struct {
	Store      breaker.Store
	Deliveries *Deliveries

	redis redis.UniversalClient
	dbs   []*sql.DB
}

// connectionsPerHandle is how many connections an agent has to a server for one purpose.
const connectionsPerHandle = 4

// BreakerName is the name of the fleet's breaker.
const BreakerName = "webhooks"

// NewStorage returns a storage, whose tables are made.
func NewStorage(ctx context.Context, c StorageConfig) (*Storage, error) {
	s := &Storage{config: c, dialect: sqlstore.SQLite, prefix: "spillway_example_" + c.Run + "_"}
	if c.Postgres != "" {
		s.dialect = sqlstore.PostgreSQL
	}
	h, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }() // it is not needed any more
	if err := h.Deliveries.create(ctx); err != nil {
		return nil, err
	}
	return s, h.prepare(ctx)
}

// String says where it is, for a person.
func (s *Storage) String() string {
	deliveries := "SQLite"
	if s.dialect == sqlstore.PostgreSQL {
		deliveries = "PostgreSQL"
	}
	if s.config.Redis != "" {
		return "the breakers share Redis, the deliveries are in " + deliveries
	}
	return "the breakers share " + deliveries + ", where the deliveries are as well"
}

// open opens a database handle for one purpose. With SQLite each has a file of its own: a file has one writer at a time, and who writes
// deliveries should not keep the breakers waiting.
func (h *Handle) open(s *Storage, purpose string) (*sql.DB, error) {
	driver, source := "pgx", s.config.Postgres
	if s.dialect == sqlstore.SQLite {
		file := url.URL{Scheme: "file", Opaque: filepath.ToSlash(filepath.Join(s.config.Folder, purpose+".db"))}
		// The files live as long as the run: nothing of them must survive a crash of the machine.
		driver, source = "sqlite", file.String()+"?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, fmt.Errorf("dispatch: %w", err)
	}
	conns := connectionsPerHandle
	if s.dialect == sqlstore.SQLite {
		conns = 1 // more would wait for each other
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	h.dbs = append(h.dbs, db)
	return db, nil
}

// Open opens a handle for one agent.
func (s *Storage) Open() (_ *Handle, err error) {
	h := &Handle{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	db, err := h.open(s, "deliveries")
	if err != nil {
		return nil, err
	}
	if h.Deliveries, err = newDeliveries(db, s.dialect, s.prefix); err != nil {
		return nil, err
	}
	if h.Store = s.config.Store; h.Store != nil {
		return h, nil
	}
	if s.config.Redis == "" {
		if db, err = h.open(s, "breakers"); err != nil {
			return nil, err
		}
		h.Store, err = sqlstore.NewBreaker(db, s.dialect, sqlstore.BreakerConfig{Name: BreakerName, Prefix: s.prefix})
		return h, err
	}
	h.redis = redis.NewUniversalClient(redisstore.Options(s.config.Redis))
	h.Store, err = redisstore.NewBreaker(h.redis, redisstore.BreakerConfig{Name: BreakerName, Prefix: s.prefix})
	return h, err
}

// prepare makes what the store needs, and sees whether it is there at all.
func (h *Handle) prepare(ctx context.Context) error {
	if store, ok := h.Store.(*sqlstore.Breaker); ok {
		return store.CreateSchema(ctx)
	}
	if h.redis != nil {
		if err := h.redis.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("dispatch: redis: %w", err)
		}
	}
	return nil
}

// Close closes the handle's connections.
func (h *Handle) Close() error {
	var errs []error
	if h.redis != nil {
		errs = append(errs, h.redis.Close())
	}
	for _, db := range h.dbs {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// Clear forgets all deliveries.
func (s *Storage) Clear(ctx context.Context) error {
	h, err := s.Open()
	if err != nil {
		return err
	}
	return errors.Join(h.Deliveries.Forget(ctx, 0), h.Close())
}

// Remove removes what this run has left on servers. SQLite's folder is the caller's.
func (s *Storage) Remove(ctx context.Context) error {
	h, err := s.Open()
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // what there is to say was said before
	var errs []error
	if s.dialect == sqlstore.PostgreSQL {
		for _, table := range []string{"deliveries", "breaker_lease", "breaker_shard", "breaker_record", "breaker_probe"} {
			_, err := h.dbs[0].ExecContext(ctx, "DROP TABLE IF EXISTS "+s.prefix+table)
			errs = append(errs, err)
		}
	}
	if h.redis != nil {
		errs = append(errs, h.removeKeys(ctx, s.prefix))
	}
	return errors.Join(errs...)
}

func (h *Handle) removeKeys(ctx context.Context, prefix string) error {
	keys := h.redis.Scan(ctx, 0, prefix+":*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := h.redis.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
