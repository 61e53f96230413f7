// Package sqlstore stores the shared state of a fleet in a database that you already have:
// PostgreSQL, MySQL, MariaDB or SQLite. It uses database/sql and imports no driver. [Breaker]
// stores the circuits of a [breaker.Manager], and [Bucket] the token buckets of a [bucket.Limiter].
// A [Poller] counts failed deliveries in a table of yours.
//
// # A breaker's store
//
// [NewBreaker] returns a [breakerstore.Store], in which the agents of a fleet share their circuits:
//
//	store, err := sqlstore.NewBreaker(db, sqlstore.PostgreSQL, sqlstore.BreakerConfig{Name: "webhooks"})
//	...
//	err = store.CreateSchema(ctx) // or run the statements of BreakerSchema with your migrations
//	...
//	m, err := breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: poller.Poll})
//
// There are four tables, whose names begin with the prefix: the lease, the versions of shards, the
// records, and the counters of probes. The only clock is that of the database, in UTC and in
// microseconds (SQLite: milliseconds). Time zones of sessions and servers have no effect.
//
//	step      statements
//	Versions  1
//	Load      1, for any number of shards
//	Apply     2 in a transaction: the first increments the version, each other one writes up to 250 records or 1 MB
//	Campaign  1 if another manager leads, 3 for the leader
//	Probe     2 for up to 250 circuits; on MySQL 4, three of them in a transaction
//
// An idle manager reads the versions once per breaker.Config.Refresh, and campaigns about twice per
// SampleRate. A writer locks the row of one shard and its records. So writers of different shards
// do not wait for each other, and cannot deadlock. The store returns errors of the database
// unchanged, such as serialization failures and SQLite's "database is locked". The manager tries
// again in its next round, with the state of that time.
//
// If the database loses its last writes, for example in a failover, or if a table is emptied, the
// managers write their state again.
//
// [Watch] adds notifications, so that a change is seen before the next refresh. With
// BreakerConfig.NotifyChannel, the store sends them on PostgreSQL.
//
// # PostgreSQL
//
// The store uses the default isolation level, read committed. Behind a pooler such as PgBouncer,
// turn off prepared statements in the driver. For pgx that is
// default_query_exec_mode=simple_protocol, or exec; describe_exec is not enough. The tables may be UNLOGGED. Then a change does not
// wait for the disk, and a crash empties the tables. The managers write the state of breakers
// again. This query shows records as JSON:
//
//	SELECT convert_from(data, 'UTF8')::json FROM spillway_breaker_record;
//
// # MySQL and MariaDB
//
// The store works with the default settings of drivers, and with or without clientFoundRows. With
// interpolateParams=true, go-sql-driver needs one round trip less per statement. A record must not
// be larger than the server's max_allowed_packet.
//
// # SQLite
//
// Several processes on one machine may share a file. Do not share it over a network. This opens it
// with modernc.org/sqlite. Use version 1.40.1 or later: older versions may not finish a statement
// whose context ends.
//
//	db, err := sql.Open("sqlite", "file:/var/lib/app/breaker.db?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
//	db.SetMaxOpenConns(1)
//
// With WAL, readers do not wait for writers. A write waits for other processes up to busy_timeout,
// even if its context ends. Several connections in one process would only wait for each other.
// Transactions begin with a write, so _txlock=immediate has no effect.
//
// # A bucket's store
//
// [NewBucket] returns a [bucketstore.Store], in which the processes of a fleet share token buckets:
//
//	db.SetMaxOpenConns(8)
//	db.SetMaxIdleConns(8)
//	store, err := sqlstore.NewBucket(db, sqlstore.PostgreSQL, sqlstore.BucketConfig{Name: "geocoder"})
//	...
//	err = store.CreateSchema(ctx) // or run the statements of BucketSchema with your migrations
//	...
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50), Store: store})
//	...
//	err = l.Warm(ctx) // opens the connections
//
// Each bucket is one row. A bucket without a row is full. So you may delete rows: each bucket that
// was not full can then grant one more burst. A denied request changes no row.
//
//	step      statements
//	Take      1; on SQLite 2 if it is denied; on MySQL 2 for a Fixed bucket, or 1 if it is denied
//	TakeMany  2 to 4 in a transaction, for up to 128 buckets; on PostgreSQL 1, for Continuous ones
//	Peek      1
//	Return    1
//	Reset     1
//
// If a request finds the row of another limit, it reads the row and replaces it: 2 more.
//
// While its connections are busy, a limiter collects requests and makes one TakeMany for them. So the more
// callers there are, the more tokens a connection takes in a second. TakeMany locks the rows in the order
// of their IDs.
//
// Each other step is atomic in one statement. On PostgreSQL, Take decides by the newest row, but a denied
// request reads the row as it was when the statement began. If other requests have emptied the
// bucket since, the statement runs again.
//
// The only clock is that of the database, in UTC. A Take reads it once, before it waits for
// the row's lock. After a wait the time is old, which makes the bucket stricter. On MySQL, a TakeMany that
// has waited for more than half a second reads it again. The clock counts
// microseconds (SQLite: milliseconds), but intervals and levels are in nanoseconds, so no rate is
// rounded. If the interval of tokens is shorter than a tick of the clock, the tokens of a tick come
// back together. RetryAfter is rounded up to whole ticks, so it is never too short.
//
// Keys are any bytes. The store keeps a key of up to 191 bytes unchanged. Of a longer key it keeps
// the first 160 bytes, and the SHA-256 of the whole key.
//
// The store deletes rows of full buckets in the background. It deletes some hundreds at once,
// pauses for four times as long as that took, and stops after one minute until the next sweep.
// [Bucket.Close] ends a sweep.
//
// The commit is the largest cost. On PostgreSQL, make the table UNLOGGED, or turn
// synchronous_commit off for these connections. After a crash each bucket can then grant at most
// one more burst. Add no index to the table.
//
// [NewProcedureBucket] calls a stored procedure that you already have.
//
// # Counting deliveries
//
// The Poll method of a [Poller] is a [breaker.PollFunc] over your table of deliveries. It runs one
// query per round:
//
//	poller, err := sqlstore.NewPoller(db, sqlstore.PostgreSQL, sqlstore.PollerConfig{
//		Table: "deliveries", TenantColumn: "tenant", KeyColumn: "endpoint",
//		TimeColumn: "created_at", TimeType: sqlstore.TimeInstant,
//		StatusColumn: "status", Failed: []any{"failed"}, Succeeded: []any{"delivered"},
//	})
//
// The query reads the rows of the window. It needs an index that begins with the time. If the index
// also has the other columns, the database does not read the table itself:
//
//	CREATE INDEX deliveries_breaker ON deliveries (created_at, tenant, endpoint, status);
//
// breaker.Config.MinReporters has an effect only with PollerConfig.ReporterColumn, the column with the
// sender of a delivery.
//
// The cost depends on the number of rows in the window, and not on the size of the table. If you
// run the query on a replica, it adds no load to the primary. A replica that is behind returns old
// counts.
package sqlstore
