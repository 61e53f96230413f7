// Package sqlstore keeps what a fleet shares in a database that it has already: PostgreSQL, MySQL or MariaDB, SQLite. It uses
// database/sql, and brings no driver.
//
// # A breaker's store
//
// [NewBreaker] returns a [store.Store], on which the agents of a fleet share their circuits:
//
//	store, err := sqlstore.NewBreaker(db, sqlstore.PostgreSQL, sqlstore.BreakerConfig{Name: "webhooks"})
//	...
//	err = store.CreateSchema(ctx) // or run what BreakerSchema returns with your migrations
//	...
//	m, err := breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: poller.Poll})
//
// The database's own clock rules, in UTC and to the microsecond (SQLite: millisecond). Time zones of sessions and servers are of no account.
// Four tables, whose names begin with the prefix, have the lease, the shards' versions, the records and the counts of probes.
//
//	step      statements
//	Versions  1
//	Load      1, for any number of shards
//	Apply     2 in a transaction: the first counts the write and fences, the others write 250 records or 1 MB each
//	Campaign  1 for who does not lead, 3 for the leader
//	Probe     2 for any number of circuits up to 250; on MySQL 4, three of them in a transaction
//
// An agent at rest asks for the versions once per breaker.Config.Refresh, and campaigns twice or so per SampleRate. Each writer locks the
// row of one shard and its records, so writers of different shards do not wait for each other, and cannot deadlock. Errors, such as
// those of serialization and SQLite's "database is locked", are returned as they are: the manager tries again in its next round, with what holds
// by then.
//
// A database that has lost its last writes, after a failover perhaps, is as good as any: what the fleet remembers is newer, and is
// written again. A table that was emptied is filled again.
//
// [Watch] adds notifications for those who cannot wait for the next refresh. With BreakerConfig.NotifyChannel the store makes them on PostgreSQL.
//
// # PostgreSQL
//
// The default isolation level, read committed, is what is wanted. Behind a pooler such as PgBouncer, a driver must be told not to use prepared
// statements, as always. The tables may be made UNLOGGED: it saves a wait for the disk at each change, and a crash empties them, from which
// breakers recover. A person reads a record with
//
//	SELECT convert_from(data, 'UTF8')::json FROM spillway_breaker_record;
//
// # MySQL and MariaDB
//
// All drivers' defaults are fine, with clientFoundRows or without. With interpolateParams=true, go-sql-driver saves a round
// trip per statement. A record larger than the server's max_allowed_packet cannot be written.
//
// # SQLite
//
// Any number of processes on one machine may share a file, never over a network. Open it so, in the words of modernc.org/sqlite, of which 1.40.1 is
// the oldest that finishes statements whose context ends:
//
//	db, err := sql.Open("sqlite", "file:/var/lib/app/breaker.db?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
//	db.SetMaxOpenConns(1)
//
// With WAL nobody who reads waits for somebody who writes. The timeout is how long a write waits for another process, whatever its context
// matches. More than one connection per process only makes them wait for each other. Transactions begin with a write, so
// _txlock=immediate changes nothing.
//
// # A bucket's store
//
// [NewBucket] returns a [store.Store], on which the processes of a fleet share token buckets:
//
//	store, err := sqlstore.NewBucket(db, sqlstore.PostgreSQL, sqlstore.BucketConfig{Name: "geocoder"})
//	...
//	err = store.CreateSchema(ctx) // or run what BucketSchema returns with your migrations
//	...
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50), Store: store})
//
// Each bucket is a row. One that is missing is a full one, so rows may be deleted at will: each that was not full gives its bucket one more
// burst. A request that is denied writes nothing.
//
//	step    statements
//	Take    1; on SQLite 2 if it is denied; on MySQL 2 for a Fixed bucket, of which the second is left out if it is denied
//	Peek    1
//	Return  1
//	Reset   1
//
// Take's own statement is the atomic step. On PostgreSQL it decides by the newest row, but what it says of a denied request is of the
// moment at which it began; if others have emptied the bucket since, it asks again.
//
// The database's own clock rules, in UTC, whatever time zone the session is in. It is read once per statement, before any wait for
// the row's lock; a time that has become old meanwhile only makes a bucket stricter. It counts microseconds, SQLite's milliseconds. Intervals and
// levels are in nanoseconds all the same, so nothing is lost by rounding; an interval below the clock's resolution means that the tokens
// of a whole tick come back at once. RetryAfter is rounded up to whole ticks: it is always enough.
//
// Keys are any bytes. One of up to 191 bytes is kept as it is, a longer one as its first 160 bytes and the SHA-256 of the whole.
//
// Rows of full buckets are deleted now and then, in the background: some hundreds at once, with pauses of four times as long as that took, and
// for no longer than a minute. [Bucket.Close] ends it.
//
// Commits cost more than anything else. On PostgreSQL, make the table UNLOGGED or set synchronous_commit off for these connections: a crash then
// gives each bucket one more burst at most. Give it no index beside the primary key.
//
// [NewProcedureBucket] calls a stored procedure that you have already.
//
// # Counting deliveries
//
// A [Poller] is a [breaker.PollFunc] over your own table of deliveries, in one query per round:
//
//	poller, err := sqlstore.NewPoller(db, sqlstore.PostgreSQL, sqlstore.PollerConfig{
//		Table: "deliveries", TenantColumn: "tenant", KeyColumn: "endpoint",
//		TimeColumn: "created_at", TimeType: sqlstore.Instant,
//		StatusColumn: "status", Failed: []any{"failed"}, Succeeded: []any{"delivered"},
//	})
//
// It reads the rows of the window, and needs an index that begins with the time. If it goes on with the other columns, the table itself
// is not read at all:
//
//	CREATE INDEX deliveries_breaker ON deliveries (created_at, tenant, endpoint, status);
//
// The query costs what the rows of the window cost, however large the table is. On a replica it does not burden the database that takes
// the writes; a replica that is behind shows the past.
package sqlstore
